package distill;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;

/** The texts of an index, in blocks of some passages, deflated or not, and its documents. Threads may share it. */
final class Texts {
    private static final int PLAIN = 0, DEFLATED = 1;

    private final Sections file;
    private final boolean deflated;
    private final int count, size;
    private final ByteBuffer text, blocks, documents, starts;
    private final int[] lengths, owners;

    /** Of so many passages: whether they are deflated (0 or 1), and the passages of a block. */
    Texts(Sections file, int count, int form, int size) throws IOException {
        this.file = file;
        this.count = count;
        this.size = size;
        file.require(form == PLAIN || form == DEFLATED, "section 'numbers': texts of the form " + form + " are not known");
        file.require(size > 0, "section 'numbers': blocks of " + size + " passages");
        deflated = form == DEFLATED;
        text = file.buffer("text", Sections.UINT8);
        blocks = file.buffer("text_blocks", Sections.UINT64);
        documents = file.buffer("documents", Sections.UINT8);
        starts = file.buffer("document_starts", Sections.UINT64);
        lengths = file.ints("text_lengths");
        owners = file.ints("document_of");
        file.requireShape("text_lengths", count, 1);
        file.requireShape("document_of", count, 1);
        file.requireShape("text_blocks", (count + (long) size - 1) / size + 1, 1);
    }

    /** The text of a passage in UTF-8. */
    byte[] passage(int row) throws IOException {
        int first = row / size * size, last = (int) Math.min(count, first + (long) size);
        long before = sum(first, row), all = before + sum(row, last);
        byte[] block = range(text, blocks, row / size, "text_blocks");
        block = deflated ? inflated(block, all, row) : block;
        require(before + lengths[row] <= block.length, "passage", row);
        return Arrays.copyOfRange(block, (int) before, (int) before + lengths[row]);
    }

    /** The document of a passage, a JSON object. */
    String document(int row) throws IOException {
        return new String(range(documents, starts, owners[row], "document_starts"), StandardCharsets.UTF_8);
    }

    private long sum(int first, int last) throws IOException {
        long sum = 0;
        for (int row = first; row < last; row++) {
            require(lengths[row] >= 0, "passage", row);
            sum += lengths[row];
        }
        return sum;
    }

    private byte[] range(ByteBuffer content, ByteBuffer bounds, int number, String name) throws IOException {
        require(number >= 0 && number < bounds.limit() / 8 - 1, name, number);
        long start = bounds.getLong(8 * number), end = bounds.getLong(8 * number + 8);
        require(start >= 0 && start <= end && end <= content.limit(), name, number);
        byte[] bytes = new byte[(int) (end - start)];
        ByteBuffer source = content.duplicate();
        source.position((int) start);
        source.get(bytes);
        return bytes;
    }

    private byte[] inflated(byte[] block, long length, int row) throws IOException {
        // Deflate makes a byte of 1,032 at most.
        require(length <= 1032L * block.length, "passage", row);
        byte[] bytes = new byte[(int) Math.min(length, Integer.MAX_VALUE - 8)];
        Inflater inflater = new Inflater(true);
        try {
            inflater.setInput(block);
            for (int done = 0, more = 1; done < bytes.length && more > 0; done += more) {
                more = inflater.inflate(bytes, done, bytes.length - done);
                require(more > 0, "passage", row);
            }
        } catch (DataFormatException error) {
            throw new FormatException(file.place, "the text of passage " + row + " cannot be inflated");
        } finally {
            inflater.end();
        }
        return bytes;
    }

    private void require(boolean right, String what, int number) throws FormatException {
        file.require(right, what + " " + number + " lies outside of the file's texts");
    }
}
