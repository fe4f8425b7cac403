package distill;

import java.util.ArrayList;
import java.util.List;

/** A text cut into passages at sentence ends, as {@code distill index} cuts one; places are those of code points. */
final class Cutter {
    private static final int JOINER = 0x200d;
    /** What ends a sentence and what closes it behind that, where blanks follow, and where none have to. */
    private static final String ENDS = ".!?\u2026\u0964\u061f", CLOSING = "\"'\u00bb\u201d\u2019)]",
        WIDE_ENDS = "\u3002\uff01\uff1f", WIDE_CLOSING = "\u300d\u300f\u201d\u2019\uff09";
    /**
     * What stands on the letter before it: marks of the scripts that are written today, joiners, tones of skin, tags and
     * ends of Hangul's syllables. Letters between marks are among them: a text is cut before those all the same.
     */
    private static final int[][] MARKS = {
        {0x300, 0x36f}, {0x483, 0x489}, {0x591, 0x5c7}, {0x610, 0x61a}, {0x64b, 0x65f}, {0x670, 0x670},
        {0x6d6, 0x6ed}, {0x711, 0x711}, {0x730, 0x74a}, {0x7a6, 0x7b0}, {0x7eb, 0x7f3}, {0x816, 0x82d},
        {0x859, 0x85b}, {0x897, 0x89f}, {0x8ca, 0x8ff}, {0xdca, 0xddf}, {0xdf2, 0xdf3}, {0xe31, 0xe3a},
        {0xe47, 0xe4e}, {0xeb1, 0xebc}, {0xec8, 0xece}, {0xf18, 0xf19}, {0xf35, 0xf3f}, {0xf71, 0xfc6},
        {0x102b, 0x103e}, {0x1056, 0x109d}, {0x1160, 0x11ff}, {0x135d, 0x135f}, {0x1712, 0x1715}, {0x1732, 0x1734},
        {0x17b4, 0x17dd}, {0x180b, 0x180f}, {0x18a9, 0x18a9}, {0x1920, 0x193b}, {0x1a17, 0x1a1b}, {0x1a55, 0x1a7f},
        {0x1ab0, 0x1ace}, {0x1b00, 0x1b04}, {0x1b34, 0x1b44}, {0x1b6b, 0x1b82}, {0x1ba1, 0x1bad}, {0x1be6, 0x1bf3},
        {0x1c24, 0x1c37}, {0x1cd0, 0x1cf9}, {0x1dc0, 0x1dff}, {0x200c, 0x200d}, {0x20d0, 0x20f0}, {0x302a, 0x302f},
        {0x3099, 0x309a}, {0xa66f, 0xa67d}, {0xa802, 0xa80b}, {0xa823, 0xa82c}, {0xa880, 0xa881}, {0xa8b4, 0xa8c5},
        {0xa8e0, 0xa8ff}, {0xa926, 0xa92d}, {0xa947, 0xa953}, {0xa980, 0xa983}, {0xa9b3, 0xa9c0}, {0xaa29, 0xaa4d},
        {0xabe3, 0xabed}, {0xd7b0, 0xd7fb}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xff9e, 0xff9f}, {0x1f3fb, 0x1f3ff},
        {0xe0020, 0xe007f}, {0xe0100, 0xe01ef},
    };

    private final int[] text;
    private final int length, overlap;

    /** Passages of at most so many code points, of which so many are the last sentences of the one before. */
    Cutter(int[] text, int length, int overlap) {
        this.text = text;
        this.length = length;
        this.overlap = overlap;
    }

    /** The passages, each as its sentences' begins and ends; none of a blank text. */
    List<List<int[]>> passages() {
        List<int[]> all = sentences();
        List<List<int[]>> passages = new ArrayList<>();
        for (int first = 0, last = 0; last < all.size();) {
            int reached = last;
            while (last < all.size() && all.get(last)[1] - all.get(first)[0] <= length) {
                last++;
            }
            if (last == reached) {
                // What would be repeated leaves no room for a new sentence.
                first = reached;
                continue;
            }
            passages.add(all.subList(first, last));
            for (first++; first < last && all.get(last - 1)[1] - all.get(first)[0] > overlap;) {
                first++;
            }
        }
        return passages;
    }

    private List<int[]> sentences() {
        List<int[]> sentences = new ArrayList<>();
        for (int begin = 0, next; begin < text.length; begin = next) {
            next = sentenceEnd(begin);
            int first = behindBlanks(begin), end = next;
            while (end > first && isBlank(text[end - 1])) {
                end--;
            }
            if (first < end) {
                add(first, end, sentences);
            }
        }
        return sentences;
    }

    /** The end of the sentence that begins at a place, with the blanks behind it. */
    private int sentenceEnd(int begin) {
        for (int place = begin; place < text.length; place++) {
            int end = place > begin ? endBehind(place) : 0;
            if (end > 0) {
                return end;
            }
            if (text[place] == '\n') {
                return behindBlanks(place);
            }
        }
        return text.length;
    }

    /** The end of a sentence whose last letter stands before a place, 0 where it is none: END of {@code encode.py}. */
    private int endBehind(int place) {
        int end = place;
        if (ENDS.indexOf(text[place - 1]) >= 0) {
            while (end < text.length && CLOSING.indexOf(text[end]) >= 0) {
                end++;
            }
            return behindBlanks(end) > end ? behindBlanks(end) : 0;
        }
        if (WIDE_ENDS.indexOf(text[place - 1]) < 0) {
            return 0;
        }
        while (end < text.length && WIDE_CLOSING.indexOf(text[end]) >= 0) {
            end++;
        }
        while (isWithin(end)) {
            end++;
        }
        return end;
    }

    /** A sentence, in parts where it is too long: cut at the last blank that leaves half, else before a letter. */
    private void add(int first, int end, List<int[]> sentences) {
        int begin = first;
        while (end - begin > length) {
            int cut = cutOf(begin);
            sentences.add(new int[] {begin, cut});
            begin = behindBlanks(cut);
        }
        sentences.add(new int[] {begin, end});
    }

    private int cutOf(int begin) {
        int least = begin + length / 2, most = begin + length;
        for (int place = most; place >= least; place--) {
            if (isBlank(text[place]) && !isWithin(place + 1)) {
                return place;
            }
        }
        for (int place = most; place > least; place--) {
            if (!isWithin(place)) {
                return place;
            }
        }
        return most;
    }

    private int behindBlanks(int place) {
        int end = place;
        while (end < text.length && isBlank(text[end])) {
            end++;
        }
        return end;
    }

    /** True where a letter and the one before it are one to a reader. */
    private boolean isWithin(int place) {
        if (place == 0 || place >= text.length) {
            return false;
        }
        int before = text[place - 1];
        if (isMark(text[place])) {
            return before >= 0x20 && (before < 0x7f || before > 0x9f) && before != 0x2028 && before != 0x2029;
        }
        // A sign that takes a consonant's vowel joins it to the next.
        return before == JOINER || (isIndian(before) && (before & 0x7f) == 0x4d && isIndian(text[place]));
    }

    /** India's scripts from Devanagari to Malayalam have 128 places each, and their marks at the same ones. */
    private static boolean isIndian(int point) {
        return point >= 0x900 && point < 0xd80;
    }

    private static boolean isMark(int point) {
        int place = point & 0x7f;
        if (isIndian(point)) {
            return place <= 3 || (place >= 0x3a && place <= 0x4f) || (place >= 0x51 && place <= 0x57) || place == 0x62
                || place == 0x63;
        }
        for (int[] range : MARKS) {
            if (point <= range[1]) {
                return point >= range[0];
            }
        }
        return false;
    }

    /** Those of Python's str.isspace. */
    static boolean isBlank(int point) {
        return (point >= 9 && point <= 13) || (point >= 0x1c && point <= 0x20) || point == 0x85 || point == 0xa0
            || point == 0x1680 || (point >= 0x2000 && point <= 0x200a) || point == 0x2028 || point == 0x2029
            || point == 0x202f || point == 0x205f || point == 0x3000;
    }
}
