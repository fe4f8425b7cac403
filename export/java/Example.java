import distill.Encoder;
import distill.Hit;
import distill.Index;
import java.io.File;
import java.io.IOException;

/** A question's vector, or its answers: {@code java Example encoder.bin "A question?" [kb]}. */
final class Example {
    private Example() {
    }

    /** Print them. */
    public static void main(String[] arguments) throws IOException {
        Encoder encoder = Encoder.open(new File(arguments[0]));
        if (arguments.length == 2) {
            System.out.println(java.util.Arrays.toString(encoder.encode(arguments[1])));
            return;
        }
        Index index = Index.open(new File(arguments[2]), encoder);
        for (Hit hit : index.search(arguments[1], 5)) {
            System.out.printf("%.3f %s%n", hit.score(), hit.sentence());
        }
    }
}
