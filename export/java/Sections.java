package distill;

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/** A file of named arrays, each mapped into memory or a part of one buffer. Nothing of it changes: threads may share it. */
final class Sections {
    static final int UINT8 = 0, INT8 = 1, INT32 = 2, UINT32 = 3, FLOAT32 = 4, UINT64 = 5;

    private static final int[] SIZES = {1, 1, 4, 4, 4, 8};
    static final byte[] MAGIC = {'d', 'i', 's', 't', 'i', 'l', 'l', 0};
    static final int VERSION = 1, NAME = 24;
    private static final int HEAD = 16, ENTRY = 64, ALIGNMENT = 64, MOST = 4096;

    final String place;
    private final Map<String, Section> sections = new HashMap<>();

    private Sections(String place) {
        this.place = place;
    }

    /** An array of one or two dimensions: its bytes, little-endian, and its shape. */
    private static final class Section {
        int type;
        long rows, columns, start, size;
        ByteBuffer data;
    }

    /** The bytes of a range, little-endian. */
    private interface Source {
        ByteBuffer range(long start, long size) throws IOException;
    }

    /** The sections of a file, each of at most 2 GB. */
    static Sections open(File file) throws IOException {
        try (RandomAccessFile opened = new RandomAccessFile(file, "r"); FileChannel channel = opened.getChannel()) {
            return read(file.getPath(), channel.size(),
                (start, size) -> channel.map(FileChannel.MapMode.READ_ONLY, start, size));
        }
    }

    /** The sections between a buffer's position and its limit, which are left where they are. */
    static Sections open(ByteBuffer buffer) throws IOException {
        return read("the buffer", buffer.remaining(), (start, size) -> {
            ByteBuffer part = buffer.duplicate();
            part.position(buffer.position() + (int) start);
            part.limit(buffer.position() + (int) (start + size));
            return part.slice();
        });
    }

    private static Sections read(String place, long length, Source source) throws IOException {
        Sections whole = new Sections(place);
        if (length < HEAD) {
            throw new FormatException(place, length + " bytes are no file of distill");
        }
        ByteBuffer head = source.range(0, HEAD).order(ByteOrder.LITTLE_ENDIAN);
        byte[] magic = new byte[MAGIC.length];
        head.get(magic);
        int version = head.getInt(), count = head.getInt();
        if (!Arrays.equals(magic, MAGIC) || version != VERSION || count < 0 || count > MOST) {
            throw new FormatException(place, "no file of distill of version " + VERSION);
        }
        long end = head(count);
        whole.require(length >= end, "not whole: " + length + " bytes, its head alone has " + end);
        ByteBuffer entries = source.range(HEAD, end - HEAD).order(ByteOrder.LITTLE_ENDIAN);
        for (int number = 0; number < count; number++) {
            end = whole.readEntry(entries, number, end, length, source);
        }
        whole.require(length == end, length + " bytes where " + end + " should be");
        return whole;
    }

    private long readEntry(ByteBuffer entries, int number, long least, long length, Source source) throws IOException {
        byte[] letters = new byte[NAME];
        entries.position(number * ENTRY);
        entries.get(letters);
        String name = new String(letters, StandardCharsets.US_ASCII).replaceFirst("\0+$", "");
        Section section = new Section();
        section.type = entries.getInt();
        int dimensions = entries.getInt();
        section.rows = entries.getLong();
        section.columns = entries.getLong();
        section.start = entries.getLong();
        section.size = entries.getLong();
        boolean known = section.type >= 0 && section.type < SIZES.length && (dimensions == 1 || dimensions == 2)
            && (section.columns == 1 || dimensions == 2) && section.start == aligned(least)
            && isProduct(section.size, section.rows, section.columns, known(section.type));
        require(known, "the entry of section '" + name + "' says what cannot be");
        long end = section.start + section.size;
        require(end >= 0 && end <= length, "not whole: section '" + name + "' ends at " + end + " of " + length);
        require(section.size <= Integer.MAX_VALUE, "section '" + name + "' has more than 2 GB");
        section.data = source.range(section.start, section.size).order(ByteOrder.LITTLE_ENDIAN);
        require(sections.put(name, section) == null, "section '" + name + "' is there twice");
        return end;
    }

    private static int known(int type) {
        return type >= 0 && type < SIZES.length ? SIZES[type] : 1;
    }

    /** The bytes of a number of a type. */
    static int size(int type) {
        return SIZES[type];
    }

    /** The bytes before the first section of so many. */
    static int head(int count) {
        return HEAD + count * ENTRY;
    }

    /** Where the section behind so many bytes begins. */
    static long aligned(long end) {
        return (end + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }

    private static boolean isProduct(long size, long rows, long columns, int bytes) {
        if (size < 0 || rows < 0 || columns < 0) {
            return false;
        }
        // Rows of no numbers would have no bytes, whatever their number.
        return columns == 0 ? size == 0 && rows == 0 : rows <= Long.MAX_VALUE / 8 / columns && rows * columns * bytes == size;
    }

    Set<String> names() {
        return sections.keySet();
    }

    boolean has(String name) {
        return sections.containsKey(name);
    }

    /** The rows of a section that may have 2^31 at most. */
    int count(String name) throws IOException {
        return whole(name, section(name).rows);
    }

    int columns(String name) throws IOException {
        return whole(name, section(name).columns);
    }

    private int whole(String name, long number) throws FormatException {
        require(number <= Integer.MAX_VALUE, "section '" + name + "' has more than 2^31 rows or columns");
        return (int) number;
    }

    int type(String name) throws IOException {
        return section(name).type;
    }

    /** The bytes of a section of one of the types, little-endian, a view of its own. */
    ByteBuffer buffer(String name, int... types) throws IOException {
        Section section = section(name);
        for (int type : types) {
            if (section.type == type) {
                return section.data.duplicate().order(ByteOrder.LITTLE_ENDIAN);
            }
        }
        throw new FormatException(place, "section '" + name + "' is of another type, " + section.type);
    }

    byte[] bytes(String name) throws IOException {
        ByteBuffer buffer = buffer(name, UINT8, INT8);
        byte[] values = new byte[buffer.remaining()];
        buffer.get(values);
        return values;
    }

    String text(String name) throws IOException {
        return new String(bytes(name), StandardCharsets.UTF_8);
    }

    /** The numbers of a section of int32 or uint32, the latter below 2^31. */
    int[] ints(String name) throws IOException {
        ByteBuffer buffer = buffer(name, INT32, UINT32);
        int[] values = new int[buffer.remaining() / 4];
        buffer.asIntBuffer().get(values);
        return values;
    }

    /** The numbers of a section of int32, at least so many. */
    int[] ints(String name, int least) throws IOException {
        int[] values = ints(name);
        require(values.length >= least, "section '" + name + "' has " + values.length + " numbers of " + least);
        return values;
    }

    float[] floats(String name) throws IOException {
        ByteBuffer buffer = buffer(name, FLOAT32);
        float[] values = new float[buffer.remaining() / 4];
        buffer.asFloatBuffer().get(values);
        return values;
    }

    /** The numbers of a section of float32, exactly so many. */
    float[] floats(String name, int count) throws IOException {
        float[] values = floats(name);
        require(values.length == count, "section '" + name + "' has " + values.length + " numbers, expected " + count);
        return values;
    }

    /** Raise {@link FormatException} with the file's name where something is not as it has to be. */
    void require(boolean right, String problem) throws FormatException {
        if (!right) {
            throw new FormatException(place, problem);
        }
    }

    /** The same for a section's shape. */
    void requireShape(String name, long rows, long columns) throws IOException {
        Section section = section(name);
        require(section.rows == rows && section.columns == columns, "section '" + name + "' is " + section.rows + " by "
            + section.columns + ", expected " + rows + " by " + columns);
    }

    private Section section(String name) throws IOException {
        Section section = sections.get(name);
        require(section != null, "section '" + name + "' is missing");
        return section;
    }
}
