package distill;

import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;

/** A file of named arrays that is written aside and then put in its place. */
final class SectionsWriter {
    private static final String ASIDE = ".part";
    private static final int ROOM = 1 << 16;

    private final List<Entry> entries = new ArrayList<>();

    /** An array and its bytes, in parts one behind the other. */
    private static final class Entry {
        String name;
        int type, dimensions;
        long rows, columns, start, size;
        Iterable<ByteBuffer> content;
    }

    void add(Part part, long rows, int columns, Iterable<ByteBuffer> content) {
        Entry entry = new Entry();
        entry.name = part.section;
        entry.type = part.type;
        entry.dimensions = part.dimensions();
        entry.rows = rows;
        entry.columns = columns;
        entry.size = rows * columns * Sections.size(part.type);
        entry.content = content;
        entries.add(entry);
    }

    /** Writes the file, whole or not at all. */
    void write(File file) throws IOException {
        File aside = new File(file.getPath() + ASIDE);
        try {
            try (FileOutputStream stream = new FileOutputStream(aside); FileChannel channel = stream.getChannel()) {
                writeAll(channel);
                channel.force(true);
            }
            Files.move(aside.toPath(), file.toPath(), StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
        } finally {
            Files.deleteIfExists(aside.toPath());
        }
    }

    private void writeAll(FileChannel channel) throws IOException {
        ByteBuffer room = ByteBuffer.allocate(Math.max(ROOM, Sections.head(entries.size()))).order(ByteOrder.LITTLE_ENDIAN);
        putHead(room);
        long end = room.position();
        for (Entry entry : entries) {
            end = put(channel, room, ByteBuffer.allocate((int) (entry.start - end)), end);
            for (ByteBuffer part : entry.content) {
                end = put(channel, room, part, end);
            }
            if (end != entry.start + entry.size) {
                throw new IOException("section '" + entry.name + "' has not the " + entry.size + " bytes that it says");
            }
        }
        flush(channel, room);
    }

    private void putHead(ByteBuffer room) {
        long end = Sections.head(entries.size());
        room.put(Sections.MAGIC).putInt(Sections.VERSION).putInt(entries.size());
        for (Entry entry : entries) {
            byte[] name = entry.name.getBytes(StandardCharsets.US_ASCII);
            entry.start = Sections.aligned(end);
            end = entry.start + entry.size;
            room.put(name).put(new byte[Sections.NAME - name.length]).putInt(entry.type).putInt(entry.dimensions);
            room.putLong(entry.rows).putLong(entry.columns).putLong(entry.start).putLong(entry.size);
        }
    }

    /** Puts bytes behind the others, of which there are so many; how many there are then. */
    private static long put(FileChannel channel, ByteBuffer room, ByteBuffer part, long end) throws IOException {
        ByteBuffer source = part.duplicate();
        int size = source.remaining();
        while (source.hasRemaining()) {
            if (!room.hasRemaining()) {
                flush(channel, room);
            }
            ByteBuffer some = source.duplicate();
            some.limit(source.position() + Math.min(source.remaining(), room.remaining()));
            source.position(some.limit());
            room.put(some);
        }
        return end + size;
    }

    private static void flush(FileChannel channel, ByteBuffer room) throws IOException {
        room.flip();
        while (room.hasRemaining()) {
            channel.write(room);
        }
        room.clear();
    }
}
