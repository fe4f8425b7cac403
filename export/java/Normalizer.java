package distill;

import java.util.Arrays;

/** SentencePiece's normaliser: characters are replaced by a map, blanks trimmed and shown as U+2581. Threads may share it. */
final class Normalizer {
    private static final byte[] BLANK = {' '}, SYMBOL = {(byte) 0xE2, (byte) 0x96, (byte) 0x81};

    private final boolean prefix, suffix, trims;
    private final byte[] space;
    /** The map's double array trie, as darts-clone lays it out, and the replacements, each with a zero behind it. */
    private final int[] units;
    private final byte[] strings;
    /** Symbols of the user's own, which stay as they are; null where there are none. */
    private final Trie symbols;

    Normalizer(int[] settings, int[] units, byte[] strings, Trie symbols) {
        boolean dummy = settings[3] != 0;
        suffix = dummy && settings[6] != 0;
        prefix = dummy && !suffix;
        trims = settings[4] != 0;
        space = settings[5] != 0 ? SYMBOL : BLANK;
        this.units = units;
        this.strings = strings;
        this.symbols = symbols;
    }

    /** UTF-8 to UTF-8. */
    byte[] normalize(byte[] text) {
        Run run = new Run(text);
        while (trims && run.place < text.length && run.isBlank()) {
            run.place += run.consumed;
        }
        if (run.place == text.length) {
            return new byte[0];
        }
        if (prefix) {
            run.append(space, 0, space.length);
        }
        boolean trimmed = trims;
        while (run.place < text.length) {
            trimmed = run.step(trimmed) && trims;
        }
        int length = run.length;
        while (trims && endsWith(run.output, length, space)) {
            length -= space.length;
        }
        run.length = length;
        if (suffix) {
            run.append(space, 0, space.length);
        }
        return Arrays.copyOf(run.output, run.length);
    }

    private static boolean endsWith(byte[] bytes, int length, byte[] ending) {
        int start = length - ending.length;
        for (int place = 0; place < ending.length; place++) {
            if (start < 0 || bytes[start + place] != ending[place]) {
                return false;
            }
        }
        return true;
    }

    /** The bytes of a character by its first one. */
    static int characterBytes(byte first) {
        int high = (first & 0xFF) >>> 4;
        return high < 12 ? 1 : high < 14 ? 2 : high < 15 ? 3 : 4;
    }

    /** One text on its way: what is written, where it is read, and what the next characters become. */
    private final class Run {
        final byte[] text;
        byte[] output;
        int place, length;
        /** Of the last {@link #read}: bytes that it took, and where what they become stands. */
        int consumed, start, end;
        byte[] source;

        Run(byte[] text) {
            this.text = text;
            output = new byte[text.length + text.length / 2 + 8];
        }

        boolean isBlank() {
            read();
            return end == start + 1 && source[start] == ' ';
        }

        /** Write what the next characters become, without leading blanks where one came before; whether it ends with one. */
        boolean step(boolean trimmed) {
            read();
            place += consumed;
            while (trimmed && start < end && source[start] == ' ') {
                start++;
            }
            for (int at = start; at < end; at++) {
                if (source[at] == ' ') {
                    append(space, 0, space.length);
                } else {
                    append(source, at, at + 1);
                }
            }
            return start < end ? source[end - 1] == ' ' : trimmed;
        }

        void append(byte[] bytes, int from, int to) {
            if (length + to - from > output.length) {
                output = Arrays.copyOf(output, 2 * output.length + to - from);
            }
            for (int at = from; at < to; at++) {
                output[length++] = bytes[at];
            }
        }

        private void read() {
            if (!readSymbol() && !readRule()) {
                source = text;
                start = place;
                consumed = Math.min(characterBytes(text[place]), text.length - place);
                end = start + consumed;
            }
        }

        private boolean readSymbol() {
            int longest = 0, node = 0;
            for (int at = place; symbols != null && at < text.length; at++) {
                node = symbols.next(node, text[at]);
                if (node == Trie.NONE) {
                    break;
                }
                longest = symbols.value(node) == Trie.NONE ? longest : at + 1 - place;
            }
            source = text;
            start = place;
            end = start + longest;
            consumed = longest;
            return longest > 0;
        }

        /** The longest rule of the map: a walk through the double array. */
        private boolean readRule() {
            int longest = 0, value = 0, node = units.length > 0 ? offset(units[0]) : -1;
            for (int at = place; at < text.length; at++) {
                int letter = text[at] & 0xFF;
                node ^= letter;
                if (node < 0 || node >= units.length || (units[node] & 0x800000FF) != letter) {
                    break;
                }
                int unit = units[node];
                node ^= offset(unit);
                if ((unit >>> 8 & 1) == 1 && node >= 0 && node < units.length) {
                    longest = at + 1 - place;
                    value = units[node] & 0x7FFFFFFF;
                }
            }
            if (longest == 0) {
                return false;
            }
            source = strings;
            start = Math.min(value, strings.length);
            for (end = start; end < strings.length && strings[end] != 0; end++) {
            }
            consumed = longest;
            return true;
        }

        private int offset(int unit) {
            return unit >>> 10 << ((unit & 1 << 9) >>> 6);
        }
    }
}
