package distill;

import java.io.IOException;

/** The error of a file that is none of ours, is not whole, or belongs to another encoder; its message names the place. */
public final class FormatException extends IOException {
    private static final long serialVersionUID = 1L;

    FormatException(String place, String problem) {
        super(place + ": " + problem);
    }
}
