package distill;

import java.util.LinkedHashMap;
import java.util.Map;

/** The fields of an object of JSON, as they stand there: of an index's card, or of a document. */
final class Json {
    private static final String SIGNS = "nrtbf\"\\", MEANT = "\n\r\t\b\f\"\\";

    private final String text;
    private int place;

    private Json(String text) {
        this.text = text;
    }

    /** The begin and end of each field's value; null where the text is no object. */
    static Map<String, int[]> fields(String text) {
        Json rest = new Json(text);
        Map<String, int[]> fields = new LinkedHashMap<>();
        boolean whole = rest.take('{');
        while (whole && !rest.take('}')) {
            whole = (fields.isEmpty() || rest.take(',')) && rest.take('"');
            int name = rest.place;
            whole = whole && rest.skipString();
            int end = rest.place - 1;
            whole = whole && rest.take(':') && !rest.take('\0');
            int begin = rest.place;
            if (whole && rest.skipValue() && rest.place > begin) {
                // Of two of a name the last one counts, in its place.
                fields.remove(text.substring(name, end));
                fields.put(text.substring(name, end), new int[] {begin, rest.place});
            } else {
                whole = false;
            }
        }
        return whole && rest.isDone() ? fields : null;
    }

    /** A field's value as it stands there; null where there is none, or no object. */
    static String value(String text, String name) {
        Map<String, int[]> fields = fields(text);
        int[] value = fields == null ? null : fields.get(name);
        return value == null ? null : text.substring(value[0], value[1]);
    }

    /** What a field says, null where it is no string. */
    static String string(String text, String name) {
        String value = value(text, name);
        boolean quoted = value != null && value.length() > 1 && value.charAt(0) == '"';
        return quoted ? unescaped(value.substring(1, value.length() - 1)) : null;
    }

    /** A whole number of a few digits, -1 for anything else. */
    static int number(String text, String name) {
        String value = value(text, name);
        return value != null && value.matches("[0-9]{1,9}") ? Integer.parseInt(value) : -1;
    }

    /** True where the next sign is this one, which is taken. */
    private boolean take(char sign) {
        while (place < text.length() && (text.charAt(place) == ' ' || (text.charAt(place) >= '\t' && text.charAt(place) <= '\r'))) {
            place++;
        }
        boolean there = place < text.length() && text.charAt(place) == sign;
        place += there ? 1 : 0;
        return there;
    }

    private boolean isDone() {
        return !take('\0') && place == text.length();
    }

    /** What is left of a string. */
    private boolean skipString() {
        for (; place < text.length(); place++) {
            if (text.charAt(place) == '"') {
                place++;
                return true;
            }
            place += text.charAt(place) == '\\' ? 1 : 0;
        }
        return false;
    }

    private boolean skipValue() {
        if (take('"')) {
            return skipString();
        }
        if (take('{') || take('[')) {
            return skipNested();
        }
        while (place < text.length() && text.charAt(place) > ' ' && text.charAt(place) != ',' && text.charAt(place) != '}') {
            place++;
        }
        return true;
    }

    /** What is left of an object or a list. */
    private boolean skipNested() {
        int depth = 1;
        while (depth > 0 && place < text.length()) {
            char sign = text.charAt(place++);
            if (sign == '"' && !skipString()) {
                return false;
            }
            depth += sign == '{' || sign == '[' ? 1 : sign == '}' || sign == ']' ? -1 : 0;
        }
        return depth == 0;
    }

    /** What a string says, of what stands between its quotes. */
    private static String unescaped(String inside) {
        StringBuilder text = new StringBuilder();
        for (int place = 0; place < inside.length(); place++) {
            char sign = inside.charAt(place);
            if (sign != '\\' || place + 1 == inside.length()) {
                text.append(sign);
                continue;
            }
            sign = inside.charAt(++place);
            if (sign == 'u') {
                int end = Math.min(place + 5, inside.length());
                String digits = inside.substring(place + 1, end);
                text.append(digits.matches("[0-9a-fA-F]{4}") ? (char) Integer.parseInt(digits, 16) : '\ufffd');
                place = end - 1;
            } else {
                text.append(SIGNS.indexOf(sign) < 0 ? sign : MEANT.charAt(SIGNS.indexOf(sign)));
            }
        }
        return text.toString();
    }

    /** A text as a string, as Python writes it. */
    static String quoted(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        for (char letter : text.toCharArray()) {
            int sign = MEANT.indexOf(letter);
            if (sign >= 0) {
                quoted.append('\\').append(SIGNS.charAt(sign));
            } else if (letter < ' ') {
                quoted.append(String.format("\\u%04x", (int) letter));
            } else {
                quoted.append(letter);
            }
        }
        return quoted.append('"').toString();
    }
}
