package distill;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * A SentencePiece unigram model: a text's pieces are those of the best path, in single precision as there. Threads may
 * share it.
 */
final class Pieces {
    private static final int NORMAL = 1, USER_DEFINED = 4;
    private static final float UNKNOWN_PENALTY = 10;
    /** In the logarithm a symbol of the user's own costs this, so that its pieces never win. */
    private static final double SYMBOL_PENALTY = 0.1;
    private static final byte[] REPLACEMENT = {(byte) 0xEF, (byte) 0xBF, (byte) 0xBD};
    private static final int MOST_BYTES = (1 << 23) - 2;

    /** Of all pieces those with a row; behind them stand spellings. */
    final int count;
    private final int unknown, begin, end;
    private final Normalizer normalizer;
    private final Trie trie = new Trie();
    private final float[] scores;
    private final byte[] types;
    private final float unknownScore, highest;
    /** The ids that each spelling stands for, and NONE; where those of each begin, and behind the last. */
    private final int[] spellings, spelled;

    Pieces(Sections file) throws IOException {
        int[] settings = file.ints("tokenizer", 8);
        byte[] bytes = file.bytes("pieces");
        int[] starts = file.ints("piece_starts");
        int all = starts.length - 1;
        spellings = file.has("spellings") ? file.ints("spellings") : new int[0];
        spelled = spelledFrom(file, spellings);
        count = all - (spelled.length - 1);
        file.require(count >= 0, "section 'spellings': " + (all - count) + " of " + all + " pieces");
        requireSpellings(file, starts);
        scores = file.floats("piece_scores", all);
        types = file.bytes("piece_types");
        unknown = settings[0];
        begin = settings[1];
        end = settings[2];
        file.require(types.length == all && bytes.length <= MOST_BYTES, "section 'pieces' or 'piece_types' is too long");
        file.require(settings[7] == 0, "section 'tokenizer': pieces of single bytes are not known here");
        for (int id : new int[] {unknown, begin, end}) {
            file.require(id >= 0 && id < count, "section 'tokenizer': there is no piece " + id + " of " + count);
        }
        Trie symbols = readPieces(file, bytes, starts);
        float lowest = Float.MAX_VALUE, most = Float.MIN_NORMAL;
        for (int id = 0; id < all; id++) {
            lowest = types[id] == NORMAL ? Math.min(lowest, scores[id]) : lowest;
            most = types[id] == NORMAL ? Math.max(most, scores[id]) : most;
        }
        unknownScore = lowest - UNKNOWN_PENALTY;
        highest = most;
        normalizer = readNormalizer(file, settings, symbols);
    }

    private static int[] spelledFrom(Sections file, int[] spellings) throws IOException {
        int number = 0;
        for (int id : spellings) {
            number += id == Trie.NONE ? 1 : 0;
        }
        file.require(spellings.length == 0 || spellings[spellings.length - 1] == Trie.NONE,
            "section 'spellings' is not whole");
        int[] from = new int[number + 1];
        for (int place = 0, next = 1; place < spellings.length; place++) {
            if (spellings[place] == Trie.NONE) {
                from[next++] = place + 1;
            }
        }
        return from;
    }

    /** A text has room for an id a byte. */
    private void requireSpellings(Sections file, int[] starts) throws IOException {
        for (int id : spellings) {
            file.require(id >= Trie.NONE && id < count, "section 'spellings': there is no piece " + id + " of " + count);
        }
        for (int place = 0; place + 1 < spelled.length; place++) {
            file.require(spelled[place + 1] - spelled[place] - 1 <= starts[count + place + 1] - starts[count + place],
                "section 'spellings': one stands for more pieces than it has bytes");
        }
    }

    private Trie readPieces(Sections file, byte[] bytes, int[] starts) throws IOException {
        Trie symbols = null;
        for (int id = 0; id + 1 < starts.length; id++) {
            boolean right = starts[id] >= 0 && starts[id] <= starts[id + 1] && starts[id + 1] <= bytes.length;
            file.require(right, "section 'piece_starts': piece " + id + " lies outside of section 'pieces'");
            if (types[id] == NORMAL || types[id] == USER_DEFINED) {
                trie.put(bytes, starts[id], starts[id + 1], id);
            }
            if (types[id] == USER_DEFINED) {
                symbols = symbols == null ? new Trie() : symbols;
                symbols.put(bytes, starts[id], starts[id + 1], id);
            }
        }
        return symbols;
    }

    private static Normalizer readNormalizer(Sections file, int[] settings, Trie symbols) throws IOException {
        byte[] map = file.bytes("charsmap");
        if (map.length == 0) {
            return new Normalizer(settings, new int[0], map, symbols);
        }
        ByteBuffer buffer = ByteBuffer.wrap(map).order(ByteOrder.LITTLE_ENDIAN);
        int size = map.length < 4 ? -1 : buffer.getInt();
        file.require(size >= 0 && size % 4 == 0 && size <= map.length - 4, "section 'charsmap' is not whole");
        int[] units = new int[size / 4];
        buffer.asIntBuffer().get(units);
        return new Normalizer(settings, units, Arrays.copyOfRange(map, 4 + size, map.length), symbols);
    }

    /**
     * A text's ids: the begin, its pieces, the end. Surrogates without a partner are taken for U+FFFD. Soft hyphens, between
     * which the parts of a word would be read as words, are left out.
     */
    int[] tokenize(String text) {
        byte[] normal = normalizer.normalize(utf8(text.replace("\u00AD", "")));
        int[] from = new int[normal.length + 1], ids = new int[normal.length + 1];
        findBestPath(normal, from, ids);
        // Read from its end; unknown pieces that follow each other are one.
        int[] backwards = new int[normal.length + 2];
        int number = 0;
        backwards[number++] = end;
        for (int place = normal.length; place > 0; place = from[place]) {
            if (ids[place] >= count) {
                number = putSpelling(ids[place] - count, backwards, number);
            } else if (ids[place] != unknown || backwards[number - 1] != unknown || number == 1) {
                backwards[number++] = ids[place];
            }
        }
        int[] forwards = new int[number + 1];
        forwards[0] = begin;
        for (int place = 0; place < number; place++) {
            forwards[place + 1] = backwards[number - 1 - place];
        }
        return forwards;
    }

    private int putSpelling(int place, int[] backwards, int number) {
        for (int i = spelled[place + 1] - 2; i >= spelled[place]; i--) {
            backwards[number++] = spellings[i];
        }
        return number;
    }

    private static byte[] utf8(String text) {
        try {
            ByteBuffer encoded = StandardCharsets.UTF_8.newEncoder().onMalformedInput(CodingErrorAction.REPLACE)
                .replaceWith(REPLACEMENT).encode(CharBuffer.wrap(text));
            byte[] bytes = new byte[encoded.remaining()];
            encoded.get(bytes);
            return bytes;
        } catch (CharacterCodingException error) {
            throw new AssertionError(error);
        }
    }

    /** Of each end of a piece on the best path to it (Viterbi): where it begins, and its id. */
    private void findBestPath(byte[] text, int[] from, int[] ids) {
        float[] best = new float[text.length + 1];
        Arrays.fill(from, -1);
        for (int start = 0, next; start < text.length; start = next) {
            int length = Math.min(Normalizer.characterBytes(text[start]), text.length - start);
            next = start + length;
            boolean single = false;
            for (int place = start, node = 0; place < text.length;) {
                node = trie.next(node, text[place++]);
                if (node == Trie.NONE) {
                    break;
                }
                int id = trie.value(node);
                if (id != Trie.NONE) {
                    step(best, from, ids, start, place, id);
                    single |= place == next;
                }
            }
            if (!single) {
                float score = unknownScore + best[start];
                if (from[next] < 0 || score > best[next]) {
                    set(best, from, ids, start, next, unknown, score);
                }
            }
        }
    }

    private void step(float[] best, int[] from, int[] ids, int start, int place, int id) {
        float piece = types[id] == USER_DEFINED ? (float) ((place - start) * highest - SYMBOL_PENALTY) : scores[id];
        float score = piece + best[start];
        if (from[place] < 0 || score > best[place]) {
            set(best, from, ids, start, place, id, score);
        }
    }

    private static void set(float[] best, int[] from, int[] ids, int start, int place, int id, float score) {
        best[place] = score;
        from[place] = start;
        ids[place] = id;
    }
}
