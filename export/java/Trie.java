package distill;

import java.util.Arrays;

/** Byte strings with a number each, walked byte by byte: the edges lie in one hash table. */
final class Trie {
    static final int NONE = -1;
    private static final int ROOT = 0;

    /** Of an edge: its node and its byte together, plus one (0: no edge), and the node it leads to. */
    private int[] edges = new int[1 << 10], ends = new int[1 << 10];
    private int[] values = {NONE};
    private int nodes = 1;

    /** Put in a string; of equal ones the last stays. At most 2^23 nodes: callers' sections are shorter than that. */
    void put(byte[] bytes, int start, int end, int value) {
        int node = ROOT;
        for (int place = start; place < end; place++) {
            int next = next(node, bytes[place]);
            node = next == NONE ? add(node, bytes[place]) : next;
        }
        values[node] = value;
    }

    /** The node behind a byte, {@link #NONE} where no string goes on so. The first node is 0. */
    int next(int node, byte letter) {
        int edge = (node << 8 | letter & 0xFF) + 1;
        for (int place = place(edge);; place = place + 1 & edges.length - 1) {
            if (edges[place] == edge) {
                return ends[place];
            }
            if (edges[place] == 0) {
                return NONE;
            }
        }
    }

    /** The number of the string that ends at a node, {@link #NONE} where none does. */
    int value(int node) {
        return values[node];
    }

    private int add(int node, byte letter) {
        if (4 * nodes > 3 * edges.length) {
            grow();
        }
        if (nodes == values.length) {
            values = Arrays.copyOf(values, 2 * nodes);
        }
        values[nodes] = NONE;
        set((node << 8 | letter & 0xFF) + 1, nodes);
        return nodes++;
    }

    private void set(int edge, int end) {
        int place = place(edge);
        while (edges[place] != 0) {
            place = place + 1 & edges.length - 1;
        }
        edges[place] = edge;
        ends[place] = end;
    }

    private void grow() {
        int[] before = edges, targets = ends;
        edges = new int[2 * before.length];
        ends = new int[2 * before.length];
        for (int place = 0; place < before.length; place++) {
            if (before[place] != 0) {
                set(before[place], targets[place]);
            }
        }
    }

    private int place(int edge) {
        // Fibonacci hashing (Knuth): the highest bits of a product with 2^32 through the golden ratio.
        return edge * 0x9E3779B9 >>> Integer.numberOfLeadingZeros(edges.length - 1);
    }
}
