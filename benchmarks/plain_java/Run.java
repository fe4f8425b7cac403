import distill.Encoder;
import distill.Hit;
import distill.Index;
import distill.IndexWriter;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.List;

/**
 * Jobs for the encoder and the searcher, lines of a file, words parted by tabs: {@code encode ENCODER TEXTS OUTPUT},
 * {@code search ENCODER INDEX TEXTS K OUTPUT}, {@code answer ENCODER INDEX TEXTS K}, {@code open ENCODER INDEX} or
 * {@code write ENCODER INDEX TEXTS OUTPUT}, of a new index where it is {@code -}. Each prints a line: the milliseconds a
 * text, the probability that the first text is answered, the number of documents, or what is thrown.
 */
final class Run {
    private Run() {
    }

    /** Run the jobs of the file that is named. */
    public static void main(String[] arguments) throws IOException {
        for (String line : Files.readAllLines(new File(arguments[0]).toPath(), StandardCharsets.UTF_8)) {
            String[] words = line.split("\t");
            try {
                System.out.println(run(words));
            } catch (IOException | RuntimeException error) {
                System.out.println(error.getClass().getName() + ": " + error.getMessage());
            }
        }
    }

    private static double run(String[] words) throws IOException {
        Encoder encoder = Encoder.open(new File(words[1]));
        if (words[0].equals("open")) {
            return words.length == 2 ? encoder.dimension() : Index.open(new File(words[2]), encoder).size();
        }
        if (words[0].equals("answer")) {
            Index index = Index.open(new File(words[2]), encoder);
            return index.probability(index.search(texts(words[3])[0], Integer.parseInt(words[4])));
        }
        if (words[0].equals("write")) {
            File index = new File(words[2]);
            return write(words[2].equals("-") ? IndexWriter.create(encoder) : IndexWriter.open(index, encoder), words);
        }
        if (words[0].equals("encode")) {
            return encode(encoder, texts(words[2]), words[3]);
        }
        return search(Index.open(new File(words[2]), encoder), texts(words[3]), Integer.parseInt(words[4]), words[5]);
    }

    /** Texts are ids, titles and texts by turns; where the text is empty the document is taken out. */
    private static double write(IndexWriter writer, String[] words) throws IOException {
        String[] texts = texts(words[3]);
        for (int place = 0; place < texts.length; place += 3) {
            if (texts[place + 2].isEmpty()) {
                writer.remove(texts[place]);
            } else {
                writer.add(texts[place], texts[place + 1], texts[place + 2]);
            }
        }
        writer.save(new File(words[4]));
        return writer.size();
    }

    /** Of each text the number of its ids, these, and its vector; all numbers big-endian. */
    private static double encode(Encoder encoder, String[] texts, String output) throws IOException {
        long nanoseconds = 0;
        try (DataOutputStream stream = stream(output)) {
            for (String text : texts) {
                int[] ids = encoder.tokenize(text);
                long start = System.nanoTime();
                float[] vector = encoder.encode(text);
                nanoseconds += System.nanoTime() - start;
                stream.writeInt(ids.length);
                for (int id : ids) {
                    stream.writeInt(id);
                }
                for (float number : vector) {
                    stream.writeFloat(number);
                }
            }
        }
        return nanoseconds / 1e6 / texts.length;
    }

    /** Of each question the number of hits, and of each of these row, score, and the text and the sentence in UTF-8. */
    private static double search(Index index, String[] questions, int k, String output) throws IOException {
        long nanoseconds = 0;
        try (DataOutputStream stream = stream(output)) {
            for (String question : questions) {
                long start = System.nanoTime();
                List<Hit> hits = index.search(question, k);
                nanoseconds += System.nanoTime() - start;
                stream.writeInt(hits.size());
                for (Hit hit : hits) {
                    stream.writeInt(hit.row());
                    stream.writeFloat(hit.score());
                    write(stream, hit.text());
                    write(stream, hit.sentence());
                    write(stream, hit.document());
                }
            }
        }
        return nanoseconds / 1e6 / questions.length;
    }

    private static void write(DataOutputStream stream, String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        stream.writeInt(bytes.length);
        stream.write(bytes);
    }

    private static DataOutputStream stream(String path) throws IOException {
        return new DataOutputStream(new BufferedOutputStream(new FileOutputStream(path)));
    }

    /** The number of texts, then of each the number of its chars and these, surrogates without a partner too. */
    private static String[] texts(String path) throws IOException {
        try (DataInputStream stream = new DataInputStream(new BufferedInputStream(new FileInputStream(path)))) {
            String[] texts = new String[stream.readInt()];
            for (int number = 0; number < texts.length; number++) {
                char[] letters = new char[stream.readInt()];
                for (int place = 0; place < letters.length; place++) {
                    letters[place] = stream.readChar();
                }
                texts[number] = new String(letters);
            }
            return texts;
        }
    }
}
