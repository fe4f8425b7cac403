/* See distill.h. C99; one file, in the order: sections, products of whole numbers, dense layers, pieces of a text, rows
   of the table, the encoder, the index, files. */

#include "distill_inside.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -DDISTILL_PLAIN leaves out what is written for a processor, -DDISTILL_NO_AVX512 that alone. */
#if defined(DISTILL_PLAIN)
#elif defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define X86 1
#include <cpuid.h>
#include <immintrin.h>
#elif defined(__ARM_NEON) && defined(__aarch64__)
#define NEON 1
#include <arm_neon.h>
#elif defined(__wasm_simd128__)
#define SIMD128 1
#include <wasm_simd128.h>
#endif

/* A product that is not rounded before it is added gives other last bits. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

const char *distill_text(distill_status status)
{
    switch (status) {
    case DISTILL_OK: return "no error";
    case DISTILL_NO_FILE: return "the file cannot be read";
    case DISTILL_NO_MEMORY: return "there is not enough memory";
    case DISTILL_NOT_WHOLE: return "not a file of distill, or not the whole of one, or not at a multiple of 8";
    case DISTILL_NOT_AN_ENCODER: return "not an encoder's file: write it with distill export --format c";
    case DISTILL_NOT_AN_INDEX: return "not an index: write it with distill index";
    case DISTILL_NEWER: return "a file of a newer distill, or of a form that this program does not read";
    case DISTILL_OTHER_ENCODER: return "the index was made by another encoder";
    case DISTILL_TOO_LONG: return "the text is too long";
    case DISTILL_NO_PASSAGE: return "the index has no such passage or sentence";
    case DISTILL_PACKED: return "the index has its text deflated";
    case DISTILL_NOT_CALIBRATED: return "the encoder does not say how likely an answer is";
    case DISTILL_NOT_CHANGEABLE: return "an index that is compact or has words is not changed here: change it with distill index";
    case DISTILL_NO_TEXT: return "there is no text";
    case DISTILL_NOT_WRITTEN: return "the file cannot be written";
    }
    return "no such error";
}

/* ---- Sections ---- */

enum { MOST_SECTIONS = 4096 };

/* From what is at hand on, the next place where a line of the cache begins. */
static void *aligned(void *place) { return (char *)place + (ALIGNMENT - (uintptr_t)place % ALIGNMENT) % ALIGNMENT; }

static uint64_t uint64_at(const uint8_t *bytes)
{
    uint64_t number;
    memcpy(&number, bytes, sizeof number);
    return number;
}

/* The end of the section of an entry, 0 for one that cannot be. */
static uint64_t section_end(const uint8_t *entry, uint64_t before, uint64_t size)
{
    uint32_t type = uint32_at(entry + NAME), dimensions = uint32_at(entry + NAME + 4);
    uint64_t rows = uint64_at(entry + 32), columns = uint64_at(entry + 40);
    uint64_t offset = uint64_at(entry + 48), bytes = uint64_at(entry + 56);
    if (type >= TYPES || dimensions < 1 || dimensions > 2 || (dimensions == 1 && columns != 1))
        return 0;
    if (offset != (before + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT || offset > size || bytes > size - offset)
        return 0;
    /* Rows of no numbers would have no bytes, whatever their number. */
    if (rows > size || columns > size || (rows && !columns) || (columns && rows > size / columns) ||
        rows * columns * SIZES[type] != bytes)
        return 0;
    return offset + bytes;
}

distill_status distill_open_sections(const void *bytes, size_t size, sections *file)
{
    const uint32_t one = 1;
    uint64_t end;
    file->bytes = bytes;
    /* Numbers are read where they lie. */
    if (*(const uint8_t *)&one != 1)
        return DISTILL_NEWER;
    if (!bytes || (uintptr_t)bytes % 8 || size < HEAD || memcmp(bytes, "distill", 8))
        return DISTILL_NOT_WHOLE;
    if (uint32_at(file->bytes + 8) != 1)
        return DISTILL_NEWER;
    file->count = uint32_at(file->bytes + 12);
    end = HEAD + (uint64_t)file->count * ENTRY;
    if (file->count > MOST_SECTIONS || end > size)
        return DISTILL_NOT_WHOLE;
    for (uint32_t place = 0; place < file->count; place++) {
        end = section_end(file->bytes + HEAD + place * ENTRY, end, size);
        if (!end)
            return DISTILL_NOT_WHOLE;
    }
    return end == size ? DISTILL_OK : DISTILL_NOT_WHOLE;
}

array distill_section(const sections *file, const char *name, uint32_t type)
{
    array none = {NULL, 0, 0};
    for (uint32_t place = 0; place < file->count; place++) {
        const uint8_t *entry = file->bytes + HEAD + place * ENTRY;
        if (!strncmp((const char *)entry, name, NAME) && uint32_at(entry + NAME) == type) {
            array found = {file->bytes + uint64_at(entry + 48), (size_t)uint64_at(entry + 32),
                           (size_t)uint64_at(entry + 40)};
            return found;
        }
    }
    return none;
}

/* The array, if it has this shape. */
static const void *shaped(const sections *file, const char *name, uint32_t type, size_t rows, size_t columns)
{
    array part = distill_section(file, name, type);
    return part.rows == rows && part.columns == columns ? part.data : NULL;
}

/* ---- Products of whole numbers ---- */

/* Products of `n` numbers at `a` with four rows of `n` weights, one behind the other. All exact. */
typedef void four_products(const uint8_t *a, const int8_t *weights, size_t n, int32_t products[4]);

/* The same of two rows at `a`; the products with the second stand `next` behind those with the first. */
typedef void eight_products(const uint8_t *a, const int8_t *weights, size_t n, int32_t *products, size_t next);

/* The products of `count` rows at `a`, at most EIGHT, with OUTPUTS rows of weights that lie in tiles: of four numbers of
   each of the rows after the other, and again. The products with a row stand `next` behind those with the one before. */
enum { OUTPUTS = 32, EIGHT = 8, QUAD = 4 };
typedef void tiled_products(const uint8_t *a, size_t count, const int8_t *tiles, size_t n, int32_t *products, size_t next);

typedef struct kernels kernels;
typedef struct block block;
typedef struct work work;

/* The rows at `room->x` through a block of a transformer. */
typedef void block_rows(const kernels *kernel, const block *one, size_t count, const work *room);

static block_rows block_by_hand;
#if defined(X86)
static block_rows block_by_avx2, block_by_vnni;
#endif

/* What a processor has; `eight` and `tiled` may be missing. */
struct kernels {
    four_products *four;
    eight_products *eight;
    tiled_products *tiled;
    block_rows *block;
};

static int32_t one_product(const uint8_t *a, const int8_t *weights, size_t from, size_t n)
{
    int32_t sum = 0;
    for (size_t i = from; i < n; i++)
        sum += a[i] * weights[i];
    return sum;
}

#if !defined(NEON) && !defined(SIMD128)

static void four_by_hand(const uint8_t *a, const int8_t *weights, size_t n, int32_t products[4])
{
    for (size_t row = 0; row < 4; row++)
        products[row] = one_product(a, weights + row * n, 0, n);
}

#endif

#if defined(X86)

/* Sums are registers where their loops are unrolled, which gcc leaves out at -O2. */
#if defined(__clang__)
#define UNROLL
#define UNROLL_EIGHT
#else
#define UNROLL _Pragma("GCC unroll 4")
#define UNROLL_EIGHT _Pragma("GCC unroll 8")
#endif

__attribute__((target("avx2"))) static int32_t sum_of_8(__m256i x)
{
    __m128i half = _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(half, _mm_shuffle_epi32(half, 0xb1)));
}

__attribute__((target("avx2"))) static __m256i add_products(__m256i sum, __m256i a, const int8_t *weights)
{
    /* 16 bits a number: the instruction for bytes saturates. */
    __m256i wide = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)weights));
    return _mm256_add_epi32(sum, _mm256_madd_epi16(a, wide));
}

__attribute__((target("avx2"))) static void four_by_avx2(const uint8_t *a, const int8_t *weights, size_t n,
                                                         int32_t products[4])
{
    __m256i sums[4] = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256()};
    size_t whole = n / 16 * 16;
    for (size_t i = 0; i < whole; i += 16) {
        __m256i wide = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(a + i)));
        UNROLL
        for (size_t row = 0; row < 4; row++)
            sums[row] = add_products(sums[row], wide, weights + row * n + i);
    }
    UNROLL
    for (size_t row = 0; row < 4; row++)
        products[row] = sum_of_8(sums[row]) + one_product(a, weights + row * n, whole, n);
}

#if defined(DISTILL_NO_AVX512)
enum { USE_AVX512 = 0 };
#else
enum { USE_AVX512 = 1 };
#endif

#define VNNI "avx512f,avx512bw,avx512vl,avx512vnni"

/* The sums of four registers: pairs side by side, then all four, then the four parts of the register. */
__attribute__((target(VNNI))) static void store_sums(const __m512i sums[4], int32_t *products)
{
    __m512i first = _mm512_add_epi32(_mm512_unpacklo_epi32(sums[0], sums[1]), _mm512_unpackhi_epi32(sums[0], sums[1]));
    __m512i last = _mm512_add_epi32(_mm512_unpacklo_epi32(sums[2], sums[3]), _mm512_unpackhi_epi32(sums[2], sums[3]));
    __m512i all = _mm512_add_epi32(_mm512_unpacklo_epi64(first, last), _mm512_unpackhi_epi64(first, last));
    __m256i half = _mm256_add_epi32(_mm512_castsi512_si256(all), _mm512_extracti64x4_epi64(all, 1));
    __m128i quarter = _mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    _mm_storeu_si128((__m128i *)products, quarter);
}

/* Products of one row, or of two, at `a`. Written once for both: a compiler unrolls it for each `count`. */
__attribute__((target(VNNI), always_inline)) static inline void by_vnni(size_t count, const uint8_t *a,
                                                                        const int8_t *weights, size_t n,
                                                                        int32_t *products, size_t next)
{
    const __m512i zero = _mm512_setzero_si512();
    __m512i sums[2][4] = {{zero, zero, zero, zero}, {zero, zero, zero, zero}};
    size_t whole = n / 64 * 64;
    const __mmask64 rest = ((__mmask64)1 << (n - whole)) - 1;
    for (size_t i = 0; i < whole; i += 64) {
        UNROLL
        for (size_t row = 0; row < 4; row++) {
            __m512i part = _mm512_loadu_si512(weights + row * n + i);
            sums[0][row] = _mm512_dpbusd_epi32(sums[0][row], _mm512_loadu_si512(a + i), part);
            if (count > 1)
                sums[1][row] = _mm512_dpbusd_epi32(sums[1][row], _mm512_loadu_si512(a + n + i), part);
        }
    }
    if (rest) {
        UNROLL
        for (size_t row = 0; row < 4; row++) {
            __m512i part = _mm512_maskz_loadu_epi8(rest, weights + row * n + whole);
            sums[0][row] = _mm512_dpbusd_epi32(sums[0][row], _mm512_maskz_loadu_epi8(rest, a + whole), part);
            if (count > 1)
                sums[1][row] = _mm512_dpbusd_epi32(sums[1][row], _mm512_maskz_loadu_epi8(rest, a + n + whole), part);
        }
    }
    store_sums(sums[0], products);
    if (count > 1)
        store_sums(sums[1], products + next);
}

__attribute__((target(VNNI))) static void four_by_vnni(const uint8_t *a, const int8_t *weights, size_t n,
                                                       int32_t products[4])
{
    by_vnni(1, a, weights, n, products, 0);
}

__attribute__((target(VNNI))) static void eight_by_vnni(const uint8_t *a, const int8_t *weights, size_t n,
                                                        int32_t *products, size_t next)
{
    by_vnni(2, a, weights, n, products, next);
}

/* Four numbers of a row in all places. */
__attribute__((target(VNNI))) static __m512i everywhere(const uint8_t *a)
{
    int32_t four;
    memcpy(&four, a, sizeof four);
    return _mm512_set1_epi32(four);
}

/* Written once for all counts, as above. */
__attribute__((target(VNNI), always_inline)) static inline void tile_by_vnni(size_t count, const uint8_t *a,
                                                                             const int8_t *tiles, size_t n,
                                                                             int32_t *products, size_t next)
{
    __m512i low[EIGHT], high[EIGHT];
    UNROLL_EIGHT
    for (size_t row = 0; row < count; row++)
        low[row] = high[row] = _mm512_setzero_si512();
    for (size_t i = 0; i < n; i += QUAD, tiles += OUTPUTS * QUAD) {
        __m512i first = _mm512_loadu_si512(tiles), second = _mm512_loadu_si512(tiles + OUTPUTS / 2 * QUAD);
        UNROLL_EIGHT
        for (size_t row = 0; row < count; row++) {
            __m512i part = everywhere(a + row * n + i);
            low[row] = _mm512_dpbusd_epi32(low[row], part, first);
            high[row] = _mm512_dpbusd_epi32(high[row], part, second);
        }
    }
    UNROLL_EIGHT
    for (size_t row = 0; row < count; row++) {
        _mm512_storeu_si512(products + row * next, low[row]);
        _mm512_storeu_si512(products + row * next + OUTPUTS / 2, high[row]);
    }
}

__attribute__((target(VNNI))) static void tiled_by_vnni(const uint8_t *a, size_t count, const int8_t *tiles, size_t n,
                                                        int32_t *products, size_t next)
{
    switch (count) {
    case 1: tile_by_vnni(1, a, tiles, n, products, next); break;
    case 2: tile_by_vnni(2, a, tiles, n, products, next); break;
    case 3: tile_by_vnni(3, a, tiles, n, products, next); break;
    case 4: tile_by_vnni(4, a, tiles, n, products, next); break;
    case 5: tile_by_vnni(5, a, tiles, n, products, next); break;
    case 6: tile_by_vnni(6, a, tiles, n, products, next); break;
    case 7: tile_by_vnni(7, a, tiles, n, products, next); break;
    default: tile_by_vnni(EIGHT, a, tiles, n, products, next);
    }
}

/* The registers that the system saves: bit 2 those of AVX, bits 5 to 7 those of AVX-512. */
static uint32_t saved_registers(void)
{
    uint32_t low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

/* Asked of the processor itself: a linker of another compiler lacks what the compiler's own question needs. */
static kernels best_products(void)
{
    const kernels plain = {four_by_hand, NULL, NULL, block_by_hand};
    const kernels avx2 = {four_by_avx2, NULL, NULL, block_by_avx2};
    const kernels vnni = {four_by_vnni, eight_by_vnni, tiled_by_vnni, block_by_vnni};
    const unsigned avx512 = 1u << 16 | 1u << 30 | 1u << 31;
    unsigned a, b, c, d, saved;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) || !(c & bit_FMA))
        return plain;
    saved = saved_registers();
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (saved & 6) != 6)
        return plain;
    if (USE_AVX512 && (b & avx512) == avx512 && (c & 1u << 11) && (saved & 0xe0) == 0xe0)
        return vnni;
    return b & bit_AVX2 ? avx2 : plain;
}

#elif defined(NEON)

static int32x4_t add_products(int32x4_t sum, uint8x16_t a, int8x16_t weights)
{
#if defined(__ARM_FEATURE_DOTPROD)
    /* a = (a - 128) + 64 + 64 in signed bytes. */
    const int8x16_t half = vdupq_n_s8(64);
    sum = vdotq_s32(sum, vreinterpretq_s8_u8(veorq_u8(a, vdupq_n_u8(128))), weights);
    return vdotq_s32(vdotq_s32(sum, half, weights), half, weights);
#else
    int16x8_t low = vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(a)));
    int16x8_t high = vreinterpretq_s16_u16(vmovl_u8(vget_high_u8(a)));
    int16x8_t first = vmovl_s8(vget_low_s8(weights)), second = vmovl_s8(vget_high_s8(weights));
    sum = vmlal_s16(vmlal_s16(sum, vget_low_s16(low), vget_low_s16(first)), vget_high_s16(low), vget_high_s16(first));
    sum = vmlal_s16(sum, vget_low_s16(high), vget_low_s16(second));
    return vmlal_s16(sum, vget_high_s16(high), vget_high_s16(second));
#endif
}

static void four_by_neon(const uint8_t *a, const int8_t *weights, size_t n, int32_t products[4])
{
    int32x4_t sums[4] = {vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0)};
    size_t whole = n / 16 * 16;
    for (size_t i = 0; i < whole; i += 16) {
        uint8x16_t part = vld1q_u8(a + i);
        for (size_t row = 0; row < 4; row++)
            sums[row] = add_products(sums[row], part, vld1q_s8(weights + row * n + i));
    }
    for (size_t row = 0; row < 4; row++)
        products[row] = vaddvq_s32(sums[row]) + one_product(a, weights + row * n, whole, n);
}

static kernels best_products(void)
{
    const kernels best = {four_by_neon, NULL, NULL, block_by_hand};
    return best;
}

#elif defined(SIMD128)

static void four_by_simd128(const uint8_t *a, const int8_t *weights, size_t n, int32_t products[4])
{
    v128_t sums[4] = {wasm_i32x4_const_splat(0), wasm_i32x4_const_splat(0), wasm_i32x4_const_splat(0),
                      wasm_i32x4_const_splat(0)};
    size_t whole = n / 8 * 8;
    for (size_t i = 0; i < whole; i += 8) {
        v128_t part = wasm_u16x8_load8x8(a + i);
        for (size_t row = 0; row < 4; row++) {
            v128_t wide = wasm_i16x8_load8x8(weights + row * n + i);
            sums[row] = wasm_i32x4_add(sums[row], wasm_i32x4_dot_i16x8(part, wide));
        }
    }
    for (size_t row = 0; row < 4; row++) {
        int32_t sum = wasm_i32x4_extract_lane(sums[row], 0) + wasm_i32x4_extract_lane(sums[row], 1);
        sum += wasm_i32x4_extract_lane(sums[row], 2) + wasm_i32x4_extract_lane(sums[row], 3);
        products[row] = sum + one_product(a, weights + row * n, whole, n);
    }
}

static kernels best_products(void)
{
    const kernels best = {four_by_simd128, NULL, NULL, block_by_hand};
    return best;
}

#else

static kernels best_products(void)
{
    const kernels best = {four_by_hand, NULL, NULL, block_by_hand};
    return best;
}

#endif

/* Products with any number of rows of weights. */
static void all_products(four_products *four, const uint8_t *a, const int8_t *weights, size_t n, size_t rows,
                         int32_t *products)
{
    size_t fours = rows / 4 * 4;
    for (size_t row = 0; row < fours; row += 4)
        four(a, weights + row * n, n, products + row);
    for (size_t row = fours; row < rows; row++)
        products[row] = one_product(a, weights + row * n, 0, n);
}

/* ---- Dense layers ---- */

/* Most numbers of a row: sums of products of bytes fit into 32 bits. */
enum { WIDEST = 32768, LANES = 32 };

/* y = act(x V^T + bias) scales. Of V either `whole` or `real` is there; `sums` are those of the rows of `whole`. */
typedef struct {
    const int8_t *whole;
    const float *real, *bias, *scales;
    int32_t *sums;
    const int8_t *tiles; /* the weights of `whole` again, where the processor takes these */
    void *unpacked;      /* the memory of `whole`, where the file has it in 4 bits, or of the tiles */
    size_t inputs, outputs;
} layer;

/* Rows that are read as one: the row and its neighbours, side by side. From one row to the next are `stride` numbers, which
   are `width` where there are neighbours. */
typedef struct {
    const float *x;
    size_t count, width, order, stride;
} rows;

/* What a layer needs for a block of rows. */
typedef struct {
    float *window, *steps;
    uint8_t *codes;
    int32_t *zeros, *products;
} scratch;

enum { BLOCK = 16 };

/* The sum of the lanes, which it changes. */
static float sum_of(float lanes[LANES])
{
    for (size_t half = LANES / 2; half; half /= 2)
        for (size_t i = 0; i < half; i++)
            lanes[i] += lanes[i + half];
    return lanes[0];
}

/* Sums go over two registers of 16 lanes, and these by halves, as LiteRT's do. */
static float total(const float *x, size_t n)
{
    float lanes[LANES] = {0};
    size_t whole = n / LANES * LANES;
    for (size_t i = 0; i < whole; i += LANES)
        for (size_t j = 0; j < LANES; j++)
            lanes[j] += x[i + j];
    for (size_t i = whole; i < n; i++)
        lanes[i - whole] += x[i];
    return sum_of(lanes);
}

static float product(const float *x, const float *y, size_t n)
{
    float lanes[LANES] = {0};
    size_t whole = n / LANES * LANES;
    for (size_t i = 0; i < whole; i += LANES)
        for (size_t j = 0; j < LANES; j++)
            lanes[j] += x[i + j] * y[i + j];
    for (size_t i = whole; i < n; i++)
        lanes[i - whole] += x[i] * y[i];
    return sum_of(lanes);
}

/* The least and the greatest of the numbers and 0. */
static void ends(const float *x, size_t n, float *least, float *greatest)
{
    float low[LANES] = {0}, high[LANES] = {0};
    size_t whole = n / LANES * LANES;
    for (size_t i = 0; i < whole; i += LANES)
        for (size_t j = 0; j < LANES; j++) {
            low[j] = x[i + j] < low[j] ? x[i + j] : low[j];
            high[j] = x[i + j] > high[j] ? x[i + j] : high[j];
        }
    for (size_t i = whole; i < n; i++) {
        low[0] = x[i] < low[0] ? x[i] : low[0];
        high[0] = x[i] > high[0] ? x[i] : high[0];
    }
    *least = *greatest = 0;
    for (size_t j = 0; j < LANES; j++) {
        *least = low[j] < *least ? low[j] : *least;
        *greatest = high[j] > *greatest ? high[j] : *greatest;
    }
}

/* The nearest whole number, halves to the even one, of one below 2^22; within ends, also what is no number. */
static float whole_number(float x, float least, float greatest)
{
    const float shift = 12582912;
    float shifted = x + shift;
    float whole = shifted - shift;
    whole = whole > least ? whole : least;
    return whole < greatest ? whole : greatest;
}

/* Round a row as LiteRT does: to 256 whole numbers from its least to its greatest, of which `zero` stands for 0. */
static void round_row(const float *x, size_t n, uint8_t *codes, float *step, int32_t *zero)
{
    float least, greatest, scale, low, high, point;
    ends(x, n, &least, &greatest);
    scale = greatest > least ? 255 / (greatest - least) : 1;
    low = least * scale;
    high = greatest * scale;
    point = (-128 + low) + (127 + high) > 0 ? -128 - low : 127 - high;
    point = whole_number(point, -128, 127);
    for (size_t i = 0; i < n; i++) {
        float scaled = x[i] * scale;
        codes[i] = (uint8_t)(int32_t)(whole_number(scaled, -128 - point, 127 - point) + (point + 128));
    }
    *step = 1 / scale;
    *zero = (int32_t)point + 128;
}

/* A row with its neighbours: itself, or a copy at `window` with zeros beyond the ends. */
static const float *window_of(const rows *in, size_t row, float *window)
{
    size_t before = (in->order - 1) / 2;
    if (in->order == 1)
        return in->x + row * in->stride;
    for (size_t place = 0; place < in->order; place++) {
        float *part = window + place * in->width;
        if (row + place < before || row + place - before >= in->count)
            memset(part, 0, in->width * sizeof *part);
        else
            memcpy(part, in->x + (row + place - before) * in->width, in->width * sizeof *part);
    }
    return window;
}

/* Add the bias, take what is above 0 where that is said, and multiply by the scales. */
static void finish(const layer *dense, bool relu, float *y)
{
    for (size_t i = 0; dense->bias && i < dense->outputs; i++)
        y[i] += dense->bias[i];
    for (size_t i = 0; relu && i < dense->outputs; i++)
        y[i] = y[i] > 0 ? y[i] : 0;
    for (size_t i = 0; dense->scales && i < dense->outputs; i++)
        y[i] *= dense->scales[i];
}

/* A block of rounded rows times weights in tiles. */
static void tiled_block(const kernels *kernel, const layer *dense, const scratch *space, size_t count)
{
    size_t inputs = dense->inputs, outputs = dense->outputs;
    for (size_t output = 0; output < outputs; output += OUTPUTS)
        for (size_t row = 0, some; row < count; row += some) {
            /* Two parts alike: few rows at a time wait for each other. */
            some = count - row <= EIGHT ? count - row : count - row < 2 * EIGHT ? (count - row + 1) / 2 : EIGHT;
            kernel->tiled(space->codes + row * inputs, some, dense->tiles + output * inputs, inputs,
                          space->products + row * outputs + output, outputs);
        }
}

/* A block of rounded rows times the weights, four rows of these at a time, which stay in the nearest cache. */
static void plain_block(const kernels *kernel, const layer *dense, const scratch *space, size_t count)
{
    size_t inputs = dense->inputs, outputs = dense->outputs;
    for (size_t output = 0; output < outputs; output += 4) {
        size_t some = outputs - output < 4 ? outputs - output : 4;
        const int8_t *weights = dense->whole + output * inputs;
        for (size_t row = 0, next; row < count; row = next) {
            const uint8_t *codes = space->codes + row * inputs;
            int32_t *products = space->products + row * outputs + output;
            next = row + (kernel->eight && some == 4 && row + 1 < count ? 2 : 1);
            if (next - row == 2)
                kernel->eight(codes, weights, inputs, products, outputs);
            else
                all_products(kernel->four, codes, weights, inputs, some, products);
        }
    }
}

static void whole_block(const kernels *kernel, const layer *dense, const scratch *space, size_t count, float *y)
{
    size_t outputs = dense->outputs;
    if (dense->tiles)
        tiled_block(kernel, dense, space, count);
    else
        plain_block(kernel, dense, space, count);
    for (size_t row = 0; row < count; row++)
        for (size_t i = 0; i < outputs; i++) {
            int32_t sum = space->products[row * outputs + i] - space->zeros[row] * dense->sums[i];
            y[row * outputs + i] = (float)sum * space->steps[row];
        }
}

static void real_row(const layer *dense, const float *x, float *y)
{
    for (size_t output = 0; output < dense->outputs; output++)
        y[output] = product(x, dense->real + output * dense->inputs, dense->inputs);
}

/* act(x V^T + b) s of all rows: `(count, outputs)`. */
static void dense_rows(const kernels *kernel, const layer *dense, const rows *in, bool relu, const scratch *space, float *y)
{
    for (size_t start = 0; start < in->count; start += BLOCK) {
        size_t count = in->count - start < BLOCK ? in->count - start : BLOCK;
        float *out = y + start * dense->outputs;
        for (size_t row = 0; row < count; row++) {
            const float *x = window_of(in, start + row, space->window);
            if (dense->whole)
                round_row(x, dense->inputs, space->codes + row * dense->inputs, space->steps + row, space->zeros + row);
            else
                real_row(dense, x, out + row * dense->outputs);
        }
        if (dense->whole)
            whole_block(kernel, dense, space, count, out);
        for (size_t row = 0; row < count; row++)
            finish(dense, relu, out + row * dense->outputs);
    }
}

static void unit(float *x, size_t n)
{
    float squares = product(x, x, n);
    float length = sqrtf(squares > 1e-12f ? squares : 1e-12f);
    for (size_t i = 0; i < n; i++)
        x[i] /= length;
}

typedef struct {
    const float *gamma, *beta;
    float epsilon;
} norm;

/* The estimate of 1 / sqrt(x) in 16 bits that a processor with AVX-512 has, from 1 below 4: 64 straight
   lines. */
static const int32_t root_starts[64] = {
    262121, 254113, 246469, 239154, 232142, 225415, 218957, 212753, 206778, 201025, 195479,
    190132, 184962, 179962, 175135, 170459, 165927, 161539, 157279, 153144, 149133, 145235,
    141448, 137763, 134175, 130683, 127286, 123966, 120735, 117590, 114511, 111514, 108565,
    102905, 97500, 92324, 87372, 82615, 78049, 73657, 69437, 65371, 61445, 57661, 54005, 50474,
    47057, 43755, 40551, 37443, 34431, 31513, 28675, 25918, 23236, 20632, 18098, 15629, 13223,
    10878, 8597, 6365, 4192, 2070};
static const int32_t root_slopes[64] = {
    1001, 955, 915, 877, 841, 807, 775, 747, 719, 693, 669, 647, 625, 603, 585, 567, 549, 533,
    517, 501, 487, 473, 461, 449, 437, 425, 415, 403, 393, 385, 375, 367, 707, 675, 647, 619,
    595, 571, 549, 527, 509, 491, 473, 457, 441, 427, 413, 401, 389, 377, 365, 355, 345, 335,
    325, 317, 309, 301, 293, 285, 279, 271, 265, 259};

/* 1 / sqrt(x) as LiteRT has it with AVX-512, to the last bit, as what comes of it is rounded to whole numbers:
   an estimate, of which the power of four is the exponent's, and a step of Newton's. */
static float inverse_root(float x)
{
    uint32_t bits, fraction, line;
    int32_t exponent, odd, root;
    float near, rest;
    if (!(x >= FLT_MIN && x <= FLT_MAX))
        return 1 / sqrtf(x);
    memcpy(&bits, &x, sizeof bits);
    exponent = (int32_t)(bits >> 23) - 127;
    odd = exponent & 1;
    fraction = bits & 0x7fffff;
    line = (uint32_t)odd * 32 + (fraction >> 18);
    root = (128 * root_starts[line] - root_slopes[line] * (int32_t)(fraction >> 8 & 1023)) / 512 * 128 + 0x3f000000;
    if (!odd && !fraction)
        root = 0x3f800000;
    root -= (exponent - odd) / 2 * 0x800000;
    memcpy(&near, &root, sizeof near);
    rest = 1 - x * (near * near);
    return near + near * .5f * rest;
}

/* Less the mean, over the standard deviation, with gains and biases. */
static void normalise(const norm *layer_norm, float *x, size_t n)
{
    float share = 1 / (float)n, mean = total(x, n) * share, over;
    for (size_t i = 0; i < n; i++)
        x[i] -= mean;
    over = inverse_root(product(x, x, n) * share + layer_norm->epsilon);
    for (size_t i = 0; i < n; i++)
        x[i] = x[i] * over * layer_norm->gamma[i] + layer_norm->beta[i];
}

/* ---- Pieces of a text ---- */

enum { NORMAL = 1, UNKNOWN = 2, CONTROL = 3, USER_DEFINED = 4, UNUSED = 5 };

/* What an unknown character scores below the least piece. */
static const float PENALTY = 10;
/* Longer texts, and what they become, do not fit into the numbers below. */
static const size_t LONGEST = (size_t)1 << 28;
static const char SPACE[] = "\xe2\x96\x81", UNKNOWN_CHARACTER[] = "\xef\xbf\xbd";

/* All pieces as a tree, a node a prefix: its children are one behind the other, by the byte that leads to them. */
typedef struct {
    uint32_t *children; /* the first of each node, and behind the last */
    int32_t *ids;       /* of the piece that ends at a node, or NONE */
    uint8_t *labels;    /* the byte that leads to a node */
} tree;

enum { NONE = -1 };

typedef struct {
    const uint8_t *pieces, *types;
    const uint32_t *starts;
    const float *scores;
    size_t count, rows;       /* of all, and of those with a row: behind them stand spellings */
    const int32_t *spellings; /* the ids that each stands for, and NONE */
    uint32_t *spelled;        /* where those of each begin, and behind the last */
    int32_t unknown, bos, eos;
    bool prefix, one_space, escape, suffix;
    float unknown_score, greatest;
    bool user_defined[256]; /* the first bytes of such pieces */
    tree tree;
    const uint8_t *trie; /* uint32 units of the map of characters */
    size_t units;
    const char *replacements;
    size_t replacements_size;
} tokenizer;

typedef struct {
    const uint8_t *bytes;
    uint32_t size;
    int32_t id;
} piece;

static int compare(const void *left, const void *right)
{
    const piece *a = left, *b = right;
    int order = memcmp(a->bytes, b->bytes, a->size < b->size ? a->size : b->size);
    return order ? order : a->size < b->size ? -1 : a->size > b->size ? 1 : a->id < b->id ? -1 : 1;
}

/* The pieces that a text is cut into, in order, and how many nodes their tree has. */
static size_t sort_pieces(const tokenizer *cutter, piece *sorted, size_t *nodes)
{
    size_t count = 0;
    for (size_t id = 0; id < cutter->count; id++) {
        uint8_t type = cutter->types[id];
        uint32_t size = cutter->starts[id + 1] - cutter->starts[id];
        if (size && (type == NORMAL || type == USER_DEFINED || type == UNUSED)) {
            piece one = {cutter->pieces + cutter->starts[id], size, (int32_t)id};
            sorted[count++] = one;
        }
    }
    qsort(sorted, count, sizeof *sorted, compare);
    *nodes = 1;
    for (size_t i = 0; i < count; i++) {
        uint32_t same = 0;
        while (i && same < sorted[i].size && same < sorted[i - 1].size && sorted[i].bytes[same] == sorted[i - 1].bytes[same])
            same++;
        *nodes += sorted[i].size - same;
    }
    return count;
}

/* The pieces of a node while the tree is built: those of its prefix. */
typedef struct {
    uint32_t first, end, depth;
} span;

static void grow(tree *all, const piece *sorted, span *spans, size_t nodes)
{
    uint32_t count = 1;
    for (size_t node = 0; node < nodes; node++) {
        span here = spans[node];
        all->ids[node] = NONE;
        all->children[node] = count;
        /* Of two that are the same, the first. */
        for (; here.first < here.end && sorted[here.first].size == here.depth; here.first++)
            if (all->ids[node] == NONE)
                all->ids[node] = sorted[here.first].id;
        while (here.first < here.end) {
            span child = {here.first, here.first, here.depth + 1};
            uint8_t label = sorted[here.first].bytes[here.depth];
            while (child.end < here.end && sorted[child.end].bytes[here.depth] == label)
                child.end++;
            all->labels[count] = label;
            spans[count++] = child;
            here.first = child.end;
        }
    }
    all->children[nodes] = count;
}

static distill_status plant(tokenizer *cutter)
{
    size_t nodes = 0, count;
    piece *sorted = calloc(cutter->count + 1, sizeof *sorted);
    span *spans = NULL;
    tree *all = &cutter->tree;
    distill_status status = DISTILL_NO_MEMORY;
    if (!sorted)
        return status;
    count = sort_pieces(cutter, sorted, &nodes);
    spans = calloc(nodes, sizeof *spans);
    all->children = calloc(nodes + 1, sizeof *all->children);
    all->ids = calloc(nodes, sizeof *all->ids);
    all->labels = malloc(nodes);
    if (spans && all->children && all->ids && all->labels) {
        span root = {0, (uint32_t)count, 0};
        spans[0] = root;
        all->labels[0] = 0;
        grow(all, sorted, spans, nodes);
        status = DISTILL_OK;
    }
    free(spans);
    free(sorted);
    return status;
}

/* The child of a node that a byte leads to, 0 where there is none. */
static uint32_t child_of(const tree *all, uint32_t node, uint8_t label)
{
    uint32_t first = all->children[node], end = all->children[node + 1], last = end;
    while (first < last) {
        uint32_t middle = first + (last - first) / 2;
        if (all->labels[middle] < label)
            first = middle + 1;
        else
            last = middle;
    }
    return first < end && all->labels[first] == label ? first : 0;
}

/* The bytes of the longest user-defined piece that a text begins with, 0 where there is none. */
static size_t user_defined(const tokenizer *cutter, const uint8_t *text, size_t size)
{
    size_t longest = 0;
    uint32_t node = 0;
    if (!cutter->user_defined[text[0]])
        return 0;
    for (size_t i = 0; i < size && (node = child_of(&cutter->tree, node, text[i])); i++) {
        int32_t id = cutter->tree.ids[node];
        if (id != NONE && cutter->types[id] == USER_DEFINED)
            longest = i + 1;
    }
    return longest;
}

/* The bytes of the longest key of the map of characters that a text begins with, and where its replacement is. */
static size_t mapped(const tokenizer *cutter, const uint8_t *text, size_t size, size_t *value)
{
    size_t longest = 0, place = 0;
    uint32_t unit = cutter->units ? uint32_at(cutter->trie) : 0;
    for (size_t i = 0; cutter->units && i < size; i++) {
        /* A unit of a double-array trie as Darts-clone has it: bits 10 to 30 an offset, times 256 with bit 9, bit 8
           that a value hangs on it, bits 0 to 7 and 31 the label. */
        place ^= (size_t)(unit >> 10) << ((unit & 1u << 9) >> 6) ^ text[i];
        if (place >= cutter->units)
            break;
        unit = uint32_at(cutter->trie + 4 * place);
        if ((unit & (1u << 31 | 0xff)) != text[i])
            break;
        if (unit >> 8 & 1) {
            size_t leaf = place ^ (size_t)(unit >> 10) << ((unit & 1u << 9) >> 6);
            size_t where = leaf < cutter->units ? uint32_at(cutter->trie + 4 * leaf) & ~(1u << 31) : SIZE_MAX;
            if (where < cutter->replacements_size) {
                longest = i + 1;
                *value = where;
            }
        }
    }
    return longest;
}

/* What a text begins with, normalised: `size` bytes, of `taken` of the text. */
typedef struct {
    const char *bytes;
    size_t size, taken;
} part;

static part next_part(const tokenizer *cutter, const uint8_t *text, size_t size)
{
    size_t value = 0, taken = user_defined(cutter, text, size);
    part next = {(const char *)text, taken, taken};
    if (!taken && (taken = mapped(cutter, text, size, &value))) {
        part map = {cutter->replacements + value, strlen(cutter->replacements + value), taken};
        return map;
    }
    if (!taken && (taken = character(text, size)))
        next.size = next.taken = taken;
    if (!taken) {
        part broken = {UNKNOWN_CHARACTER, 3, 1};
        return broken;
    }
    return next;
}

typedef struct {
    char *bytes;
    size_t size, room;
} buffer;

static distill_status append(buffer *out, const char *bytes, size_t size)
{
    if (size >= out->room - out->size) {
        size_t room = 2 * (out->room + size) + 64;
        char *more = room < 4 * LONGEST ? realloc(out->bytes, room) : NULL;
        if (!more)
            return room < 4 * LONGEST ? DISTILL_NO_MEMORY : DISTILL_TOO_LONG;
        out->bytes = more;
        out->room = room;
    }
    memcpy(out->bytes + out->size, bytes, size);
    out->size += size;
    return DISTILL_OK;
}

static distill_status append_space(const tokenizer *cutter, buffer *out)
{
    return cutter->escape ? append(out, SPACE, 3) : append(out, " ", 1);
}

static distill_status append_escaped(const tokenizer *cutter, buffer *out, const char *bytes, size_t size)
{
    distill_status status = DISTILL_OK;
    for (size_t i = 0, end; i < size && !status; i = end) {
        for (end = i; end < size && bytes[end] != ' '; end++) {
        }
        status = append(out, bytes + i, end - i);
        if (end < size && !status) {
            status = append_space(cutter, out);
            end++;
        }
    }
    return status;
}

static void drop_trailing_spaces(const tokenizer *cutter, buffer *out)
{
    const char *space = cutter->escape ? SPACE : " ";
    size_t size = strlen(space);
    while (out->size >= size && !memcmp(out->bytes + out->size - size, space, size))
        out->size -= size;
}

/* The text as it is cut into pieces: characters mapped, blanks as the model has them. */
static distill_status normalised(const tokenizer *cutter, const uint8_t *text, size_t size, buffer *out)
{
    bool blank = cutter->one_space;
    distill_status status = DISTILL_OK;
    while (size && blank) {
        part next = next_part(cutter, text, size);
        if (next.size != 1 || next.bytes[0] != ' ')
            break;
        text += next.taken;
        size -= next.taken;
    }
    if (!size)
        return status;
    if (cutter->prefix && !cutter->suffix)
        status = append_space(cutter, out);
    while (size && !status) {
        part next = next_part(cutter, text, size);
        text += next.taken;
        size -= next.taken;
        for (; blank && next.size && next.bytes[0] == ' '; next.size--)
            next.bytes++;
        if (next.size)
            blank = cutter->one_space && next.bytes[next.size - 1] == ' ';
        status = append_escaped(cutter, out, next.bytes, next.size);
    }
    if (cutter->one_space)
        drop_trailing_spaces(cutter, out);
    if (!status && cutter->prefix && cutter->suffix)
        status = append_space(cutter, out);
    return status;
}

/* The best way to a place in a text: its last piece, where that begins, and the sum of its scores. */
typedef struct {
    int32_t id, start;
    float score;
} step;

/* Sums in float32: of two ways that are equal there, SentencePiece keeps the first. */
static void offer(step *end, int32_t id, size_t start, float score)
{
    if (end->start == NONE || score > end->score) {
        end->id = id;
        end->start = (int32_t)start;
        end->score = score;
    }
}

static size_t lead(uint8_t byte) { return byte < 0xc0 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4; }

/* What a user-defined piece scores: more than any way through its bytes. */
static float own_score(const tokenizer *cutter, size_t size) { return (float)((float)size * cutter->greatest - .1); }

/* Offer all pieces that begin at a place of a text. */
static void offer_pieces(const tokenizer *cutter, const uint8_t *text, size_t size, size_t start, step *steps)
{
    size_t one = lead(text[start]) < size - start ? lead(text[start]) : size - start;
    uint32_t node = 0;
    bool known = false;
    for (size_t i = start; i < size && (node = child_of(&cutter->tree, node, text[i])); i++) {
        int32_t id = cutter->tree.ids[node];
        if (id == NONE || cutter->types[id] == UNUSED)
            continue;
        offer(steps + i + 1, id, start,
              (cutter->types[id] == USER_DEFINED ? own_score(cutter, i + 1 - start) : cutter->scores[id]) +
                  steps[start].score);
        known = known || i + 1 - start == one;
    }
    if (!known)
        offer(steps + start + one, cutter->unknown, start, cutter->unknown_score + steps[start].score);
}

/* The ids that a spelling stands for, before those from `first` on: returns the first of them. */
static size_t put_spelling(const tokenizer *cutter, size_t place, int32_t *ids, size_t first)
{
    for (size_t i = cutter->spelled[place + 1] - 1; i-- > cutter->spelled[place];)
        ids[--first] = cutter->spellings[i];
    return first;
}

/* Follow the steps back from the end; unknown pieces one after another are one. The ids stand at the end of `ids`. */
static size_t walk_back(const tokenizer *cutter, const step *steps, size_t size, int32_t *ids)
{
    size_t first = size;
    for (size_t place = size; place > 0; place = (size_t)steps[place].start) {
        int32_t id = steps[place].id;
        if ((size_t)id >= cutter->rows)
            first = put_spelling(cutter, (size_t)id - cutter->rows, ids, first);
        else if (id != cutter->unknown || first == size || ids[first] != id)
            ids[--first] = id;
    }
    return first;
}

/* The ids of a normalised text, of at most `size` pieces, with bos and eos: `*ids` is to be freed. */
static distill_status cut(const tokenizer *cutter, const uint8_t *text, size_t size, int32_t **ids, size_t *count)
{
    step *steps = calloc(size + 1, sizeof *steps);
    int32_t *room = calloc(size + 2, sizeof *room);
    size_t first;
    if (!steps || !room) {
        free(steps);
        free(room);
        return DISTILL_NO_MEMORY;
    }
    for (size_t i = 0; i <= size; i++)
        steps[i].start = NONE;
    for (size_t start = 0; start < size; start += lead(text[start]))
        offer_pieces(cutter, text, size, start, steps);
    first = walk_back(cutter, steps, size, room);
    memmove(room + 1, room + first, (size - first) * sizeof *room);
    room[0] = cutter->bos;
    room[size - first + 1] = cutter->eos;
    free(steps);
    *ids = room;
    *count = size - first + 2;
    return DISTILL_OK;
}

/* A text as it is cut into pieces, in `out`, which is to be freed in any case. */
static distill_status normal_of(const tokenizer *cutter, const char *text, size_t size, buffer *out)
{
    distill_status status = size < LONGEST ? append(out, "", 0) : DISTILL_TOO_LONG;
    return status ? status : normalised(cutter, (const uint8_t *)text, size, out);
}

/* The map of characters: bytes of a trie, the trie, replacements that each end with a zero. */
static bool take_charsmap(tokenizer *cutter, array map)
{
    const uint8_t *bytes = map.data;
    uint32_t size;
    if (!map.rows)
        return true;
    if (map.rows < 5)
        return false;
    size = uint32_at(bytes);
    if (size % 4 || size >= map.rows - 4 || bytes[map.rows - 1])
        return false;
    cutter->trie = bytes + 4;
    cutter->units = size / 4;
    cutter->replacements = (const char *)bytes + 4 + size;
    cutter->replacements_size = map.rows - 4 - size;
    return true;
}

static bool take_pieces(tokenizer *cutter, const sections *file)
{
    array pieces = distill_section(file, "pieces", UINT8);
    cutter->pieces = pieces.data;
    cutter->starts = shaped(file, "piece_starts", UINT32, cutter->count + 1, 1);
    cutter->scores = shaped(file, "piece_scores", FLOAT32, cutter->count, 1);
    cutter->types = shaped(file, "piece_types", UINT8, cutter->count, 1);
    if (!cutter->pieces || !cutter->starts || !cutter->scores || !cutter->types || cutter->starts[0])
        return false;
    for (size_t id = 0; id < cutter->count; id++)
        if (cutter->starts[id + 1] < cutter->starts[id])
            return false;
    return cutter->starts[cutter->count] == pieces.rows;
}

/* How many spellings there are; SIZE_MAX for a section that stands for others than the pieces with a row. */
static size_t count_spellings(const tokenizer *cutter, array stored)
{
    const int32_t *ids = stored.data;
    size_t count = 0;
    if (stored.rows && (stored.columns != 1 || ids[stored.rows - 1] != NONE))
        return SIZE_MAX;
    for (size_t i = 0; i < stored.rows; i++) {
        if (ids[i] < NONE || (ids[i] > NONE && (size_t)ids[i] >= cutter->rows))
            return SIZE_MAX;
        count += ids[i] == NONE;
    }
    return count;
}

static distill_status take_spellings(tokenizer *cutter, const sections *file)
{
    array stored = distill_section(file, "spellings", INT32);
    size_t many = count_spellings(cutter, stored), place = 0;
    if (many == SIZE_MAX || stored.rows > UINT32_MAX)
        return DISTILL_NOT_AN_ENCODER;
    cutter->spellings = stored.data;
    cutter->spelled = calloc(many + 1, sizeof *cutter->spelled);
    cutter->count = cutter->rows + many;
    if (!cutter->spelled)
        return DISTILL_NO_MEMORY;
    for (size_t i = 0; i < stored.rows; i++)
        if (cutter->spellings[i] == NONE)
            cutter->spelled[++place] = (uint32_t)i + 1;
    return DISTILL_OK;
}

/* A text has room for an id a byte. */
static bool spellings_fit(const tokenizer *cutter)
{
    for (size_t place = 0; place < cutter->count - cutter->rows; place++) {
        const uint32_t *starts = cutter->starts + cutter->rows + place;
        if (cutter->spelled[place + 1] - cutter->spelled[place] - 1 > starts[1] - starts[0])
            return false;
    }
    return true;
}

static void take_scores(tokenizer *cutter)
{
    float least = FLT_MAX, greatest = FLT_MIN;
    for (size_t id = 0; id < cutter->count; id++) {
        if (cutter->types[id] == NORMAL) {
            least = cutter->scores[id] < least ? cutter->scores[id] : least;
            greatest = cutter->scores[id] > greatest ? cutter->scores[id] : greatest;
        }
        if (cutter->types[id] == USER_DEFINED && cutter->starts[id + 1] > cutter->starts[id])
            cutter->user_defined[cutter->pieces[cutter->starts[id]]] = true;
    }
    cutter->unknown_score = least - PENALTY;
    cutter->greatest = greatest;
}

static distill_status take_tokenizer(tokenizer *cutter, const sections *file)
{
    const int32_t *numbers = shaped(file, "tokenizer", INT32, 8, 1);
    array map = distill_section(file, "charsmap", UINT8);
    distill_status status = take_spellings(cutter, file);
    if (status)
        return status;
    if (!numbers || !map.data || !take_pieces(cutter, file) || !spellings_fit(cutter) || !take_charsmap(cutter, map))
        return DISTILL_NOT_AN_ENCODER;
    for (size_t i = 0; i < 3; i++)
        if (numbers[i] < 0 || (size_t)numbers[i] >= cutter->rows)
            return DISTILL_NOT_AN_ENCODER;
    if (numbers[7])
        return DISTILL_NEWER;
    cutter->unknown = numbers[0];
    cutter->bos = numbers[1];
    cutter->eos = numbers[2];
    cutter->prefix = numbers[3];
    cutter->one_space = numbers[4];
    cutter->escape = numbers[5];
    cutter->suffix = numbers[6];
    take_scores(cutter);
    return plant(cutter);
}

/* ---- Rows of the table ---- */

enum { TABLE_FLOAT32, TABLE_UINT8, TABLE_INT4, TABLE_MIXED };

enum { GROUP = 32, CODEWORDS = 256 };

typedef struct {
    int32_t codec;
    size_t width, places;
    size_t word;     /* numbers of a codeword */
    size_t frequent; /* rows in int4 */
    const float *real;
    const uint8_t *codes, *steps, *packed;
    const int8_t *words;
    const int32_t *scales;
    float step;
} table;

/* Scales are whole numbers with 24 bits behind the point. */
static float scale_of(const table *all, size_t row) { return (float)all->scales[row] * (1 / 16777216.f); }

static void uint8_row(const table *all, size_t row, float *x)
{
    float scale = scale_of(all, row);
    for (size_t i = 0; i < all->width; i++)
        x[i] = (float)(all->codes[row * all->width + i] - 128) * scale;
}

static void int4_row(const table *all, size_t row, float *x)
{
    size_t groups = (all->width + GROUP - 1) / GROUP, half = groups * GROUP / 2;
    const uint8_t *packed = all->packed + row * half, *steps = all->steps + row * groups;
    float scale = scale_of(all, row);
    for (size_t i = 0; i < all->width; i++) {
        int32_t code = i < half ? packed[i] & 15 : packed[i - half] >> 4;
        x[i] = (float)(code - 8) * ((float)steps[i / GROUP] * scale);
    }
}

static void word_row(const table *all, size_t row, float *x)
{
    const uint8_t *codes = all->codes + row * all->places;
    const int8_t *last = all->words + (CODEWORDS * (all->places - 1) + codes[all->places - 1]) * all->word;
    float length = (float)last[all->word - 1] * all->step;
    for (size_t place = 0, i = 0; i < all->width; place++) {
        const int8_t *word = all->words + (CODEWORDS * place + codes[place]) * all->word;
        for (size_t j = 0; j < all->word && i < all->width; j++, i++)
            x[i] = (float)word[j] * length;
    }
}

static void table_row(const table *all, size_t row, float *x)
{
    switch (all->codec) {
    case TABLE_FLOAT32: memcpy(x, all->real + row * all->width, all->width * sizeof *x); break;
    case TABLE_UINT8: uint8_row(all, row, x); break;
    default:
        if (row < all->frequent)
            int4_row(all, row, x);
        else
            word_row(all, row - all->frequent, x);
    }
}

static bool take_int4(table *all, const sections *file, size_t rows)
{
    size_t groups = (all->width + GROUP - 1) / GROUP;
    all->packed = shaped(file, "table.0", UINT8, rows, groups * GROUP / 2);
    all->steps = shaped(file, "table.1", UINT8, rows, groups);
    all->scales = shaped(file, "table.2", INT32, rows, 1);
    return all->packed && all->steps && all->scales;
}

/* A part that has no rows keeps one, which nothing looks up. */
static bool take_words(table *all, const sections *file, size_t rows)
{
    array first = distill_section(file, "table.0", UINT8), codes = distill_section(file, "table.3", UINT8);
    array words = distill_section(file, "table.4", INT8);
    const float *step = shaped(file, "table.5", FLOAT32, 1, 1);
    const int32_t *count = shaped(file, "table.6", INT32, 1, 1);
    if (!codes.data || !codes.columns || !words.columns || !step || !count || *count < 0 || (size_t)*count > rows)
        return false;
    all->frequent = (size_t)*count;
    all->step = *step;
    all->codes = codes.data;
    all->places = codes.columns;
    all->word = words.columns;
    all->words = shaped(file, "table.4", INT8, codes.columns * CODEWORDS, all->word);
    return all->words && codes.columns <= WIDEST && codes.columns * all->word > all->width && first.rows >= all->frequent &&
           codes.rows >= rows - all->frequent && take_int4(all, file, first.rows);
}

static bool take_table(table *all, const sections *file, size_t rows)
{
    all->frequent = rows;
    switch (all->codec) {
    case TABLE_FLOAT32: return (all->real = shaped(file, "table.0", FLOAT32, rows, all->width)) != NULL;
    case TABLE_UINT8:
        all->codes = shaped(file, "table.0", UINT8, rows, all->width);
        all->scales = shaped(file, "table.1", INT32, rows, 1);
        return all->codes && all->scales;
    case TABLE_INT4: return take_int4(all, file, rows);
    default: return take_words(all, file, rows);
    }
}

/* ---- The encoder ---- */

enum { STATIC = 0, NGRAM = 1, TRANSFORMER = 2, MOST_BRANCHES = 6, MOST_ORDER = 64, FINGERPRINT = 64 };

/* Dense layers by place; those of branches stand behind, three each. */
enum {
    CONTEXT_FIRST,
    CONTEXT_SECOND,
    FIRST,
    SECOND,
    LIFT,
    FACTOR,
    POOLING,
    THIRD,
    FOURTH_SKIP,
    FOURTH,
    PROJECTION,
    DOWN,
    UP,
    DENSE,
    BRANCHES,
    LAYERS = BRANCHES + 3 * MOST_BRANCHES
};

static const char *const LAYER_NAMES[BRANCHES] = {"context.first", "context.second", "first",      "second", "lift",
                                                  "factor",        "pooling",        "third",      "fourth_skip",
                                                  "fourth",        "projection",     "projection.down",
                                                  "projection.up", "dense"};
static const char *const BRANCH_NAMES[3] = {"project", "first", "second"};

/* The section `answerable`: a row a score, of these numbers and then of the points of a line, and their probabilities. */
enum { BEST, MARGIN, FEW, USUAL, THRESHOLD, LINE, POINTS = 12, CALIBRATED = LINE + 2 * POINTS, CALIBRATED_SCORES = 3 };
/* A collection of so many passages, or fewer, is a small one. */
enum { FEW_PASSAGES = 10 };

/* Layers of a block: queries, keys and values in one; of the last, the hidden units that `wide` reads come first, where there
   is one. */
enum { LOOKED, ATTENTION, HIDDEN, WIDE, NARROW, BLOCK_LAYERS };
enum { ATTENTION_NORM, LAST_NORM, BLOCK_NORMS };
enum { MOST_BLOCKS = 999 };

static const char *const BLOCK_LAYER_NAMES[BLOCK_LAYERS] = {"looked", "attention", "first", "wide", "second"};
static const char *const BLOCK_NORM_NAMES[BLOCK_NORMS] = {"attention_norm", "norm"};

/* What the hidden units, or what stands behind the pooling, go through. */
enum { LINEAR, GELU, GELU_TANH, RELU, TANH, ACTIVATIONS };
enum { POOL_MEAN, POOL_FIRST, POOL_MAX, POOLINGS };

struct block {
    layer layers[BLOCK_LAYERS];
    norm norms[BLOCK_NORMS];
    size_t heads;
    int32_t activation;
};

/* Prompts stand before a text by its role; `bytes` is NULL for none. */
enum { ROLES = 2 };
static const char *const PROMPT_NAMES[ROLES] = {"prompt.question", "prompt.document"};

struct distill_encoder {
    const uint8_t *fingerprint;
    array name;
    int32_t kind;
    array prompts[ROLES];
    block *blocks;
    size_t depth;
    int32_t pooling, behind; /* `behind`: the activation of the layer behind the pooling */
    array positions;         /* codes, or real numbers */
    table places;
    size_t dimension, width, most, branches, features;
    size_t orders[MOST_BRANCHES]; /* of the branches, or of a static encoder's context, 0 without */
    tokenizer tokenizer;
    table table;
    layer layers[LAYERS];
    norm norm, norms[MOST_BRANCHES];
    const float *offset;
    const float *answerable;
    const int32_t *weight;
    kernels kernel;
};

static void join(char *name, const char *first, const char *second, const char *third)
{
    const char *parts[3] = {first, second, third};
    size_t size = 0;
    for (size_t i = 0; i < 3; i++)
        for (const char *c = parts[i]; *c && size < 2 * NAME - 1; c++)
            name[size++] = *c;
    name[size] = 0;
}

/* What a section of names of blocks begins with, their number and a dot. */
static void name_block(char *name, size_t place, const char *what)
{
    char digits[4] = {(char)('0' + place / 100), (char)('0' + place / 10 % 10), (char)('0' + place % 10), 0};
    join(name, digits + (place < 10 ? 2 : place < 100 ? 1 : 0), ".", what);
}

static array part_of(const sections *file, const char *name, const char *what, uint32_t type)
{
    char whole[2 * NAME];
    join(whole, name, what, "");
    return distill_section(file, whole, type);
}

/* Put the weights of a layer that are stored in 4 bits into bytes: of a byte the lower half is of the first half of a row. */
static distill_status unpack(layer *dense, const array *packed, array *kernel)
{
    const uint8_t *codes = packed->data;
    size_t half = packed->columns;
    int8_t *weights;
    dense->unpacked = malloc(2 * half * packed->rows + ALIGNMENT);
    if (!dense->unpacked)
        return DISTILL_NO_MEMORY;
    kernel->data = weights = aligned(dense->unpacked);
    kernel->rows = packed->rows;
    kernel->columns = 2 * half;
    for (size_t row = 0; row < packed->rows; row++, weights += 2 * half, codes += half)
        for (size_t i = 0; i < half; i++) {
            weights[i] = (int8_t)((codes[i] & 15) - 8);
            weights[half + i] = (int8_t)((codes[i] >> 4) - 8);
        }
    return DISTILL_OK;
}

/* Read a layer; one that is not there has no outputs. */
static distill_status take_layer(layer *dense, const sections *file, const char *name)
{
    array whole = part_of(file, name, ".kernel", INT8), real = part_of(file, name, ".kernel", FLOAT32);
    array scales = part_of(file, name, ".scales", FLOAT32), bias = part_of(file, name, ".bias", FLOAT32);
    array packed = part_of(file, name, ".packed", UINT8), kernel;
    distill_status status = DISTILL_OK;
    if (packed.data && (!packed.rows || packed.rows > WIDEST || packed.columns > WIDEST / 2))
        return DISTILL_NOT_AN_ENCODER;
    if (packed.data)
        status = unpack(dense, &packed, &whole);
    if (status)
        return status;
    kernel = whole.data ? whole : real;
    if (!kernel.data)
        return DISTILL_OK;
    if (!kernel.rows || !kernel.columns || kernel.rows > WIDEST || kernel.columns > WIDEST)
        return DISTILL_NOT_AN_ENCODER;
    if ((scales.data && scales.rows * scales.columns != kernel.rows) ||
        (bias.data && bias.rows * bias.columns != kernel.rows))
        return DISTILL_NOT_AN_ENCODER;
    dense->whole = whole.data;
    dense->real = whole.data ? NULL : real.data;
    dense->scales = scales.data;
    dense->bias = bias.data;
    dense->outputs = kernel.rows;
    dense->inputs = kernel.columns;
    if (!whole.data)
        return DISTILL_OK;
    dense->sums = calloc(kernel.rows, sizeof *dense->sums);
    if (!dense->sums)
        return DISTILL_NO_MEMORY;
    for (size_t row = 0; row < kernel.rows; row++)
        for (size_t i = 0; i < kernel.columns; i++)
            dense->sums[row] += dense->whole[row * kernel.columns + i];
    return DISTILL_OK;
}

static bool take_norm(norm *one, const sections *file, const char *name, size_t size)
{
    array gamma = part_of(file, name, ".gamma", FLOAT32), beta = part_of(file, name, ".beta", FLOAT32);
    one->gamma = gamma.data;
    one->beta = beta.data;
    one->epsilon = 1e-12f;
    return gamma.data && beta.data && gamma.rows * gamma.columns == size && beta.rows * beta.columns == size;
}

/* Lay the weights of a layer out as `tiled_products` takes them; others stay as they are. */
static distill_status tile_layer(const kernels *kernel, layer *dense)
{
    int8_t *tiles;
    void *room;
    if (!kernel->tiled || !dense->whole || dense->outputs % OUTPUTS || dense->inputs % QUAD)
        return DISTILL_OK;
    room = malloc(dense->outputs * dense->inputs + ALIGNMENT);
    if (!room)
        return DISTILL_NO_MEMORY;
    dense->tiles = tiles = aligned(room);
    for (size_t output = 0; output < dense->outputs; output += OUTPUTS)
        for (size_t i = 0; i < dense->inputs; i += QUAD)
            for (size_t row = 0; row < OUTPUTS; row++, tiles += QUAD)
                memcpy(tiles, dense->whole + (output + row) * dense->inputs + i, QUAD);
    free(dense->unpacked);
    dense->unpacked = room;
    dense->whole = dense->tiles;
    return DISTILL_OK;
}

static distill_status take_layers(distill_encoder *encoder, const sections *file)
{
    distill_status status = DISTILL_OK;
    for (size_t place = 0; place < BRANCHES && !status; place++)
        status = take_layer(encoder->layers + place, file, LAYER_NAMES[place]);
    for (size_t place = 0; place < 3 * encoder->branches && !status; place++) {
        char name[2 * NAME], branch[] = "branch0.";
        branch[6] = (char)('0' + place / 3);
        join(name, branch, BRANCH_NAMES[place % 3], "");
        status = take_layer(encoder->layers + BRANCHES + place, file, name);
    }
    for (size_t place = 0; place < encoder->depth * BLOCK_LAYERS && !status; place++) {
        char name[2 * NAME];
        name_block(name, place / BLOCK_LAYERS, BLOCK_LAYER_NAMES[place % BLOCK_LAYERS]);
        status = take_layer(encoder->blocks[place / BLOCK_LAYERS].layers + place % BLOCK_LAYERS, file, name);
        if (!status)
            status = tile_layer(&encoder->kernel, encoder->blocks[place / BLOCK_LAYERS].layers + place % BLOCK_LAYERS);
    }
    return status;
}

static bool fits(const layer *dense, size_t inputs, size_t outputs)
{
    return dense->outputs && dense->inputs == inputs && dense->outputs == outputs;
}

static bool static_fits(const distill_encoder *encoder)
{
    const layer *layers = encoder->layers;
    size_t hidden = layers[FIRST].outputs, channels = layers[CONTEXT_FIRST].outputs, width = encoder->width;
    if (encoder->orders[0] && (!fits(layers + CONTEXT_FIRST, encoder->orders[0] * width, channels) ||
                               !fits(layers + CONTEXT_SECOND, channels, width)))
        return false;
    return fits(layers + FIRST, width, hidden) && fits(layers + SECOND, hidden, width) &&
           fits(layers + LIFT, width, encoder->dimension);
}

static bool branch_fits(distill_encoder *encoder, const sections *file, size_t branch)
{
    const layer *layers = encoder->layers + BRANCHES + 3 * branch;
    size_t channels = layers[0].outputs, window = encoder->orders[branch] * channels;
    char name[] = "branch0.norm";
    name[6] = (char)('0' + branch);
    encoder->features += channels;
    return fits(layers, encoder->width, channels) && fits(layers + 1, window, channels) &&
           (!layers[2].outputs || fits(layers + 2, window, channels)) &&
           take_norm(encoder->norms + branch, file, name, channels);
}

static bool head_fits(const distill_encoder *encoder)
{
    const layer *layers = encoder->layers;
    size_t hidden = layers[SECOND].outputs, inner = layers[THIRD].outputs, space = layers[FOURTH].outputs;
    if (!fits(layers + POOLING, encoder->features, 2 * hidden) || !fits(layers + SECOND, hidden, hidden))
        return false;
    if (!fits(layers + THIRD, hidden, inner) || !fits(layers + FOURTH, inner, space) ||
        !fits(layers + FOURTH_SKIP, hidden, space))
        return false;
    if (layers[PROJECTION].outputs)
        return fits(layers + PROJECTION, space, encoder->dimension);
    if (layers[DOWN].outputs && (!fits(layers + DOWN, space, layers[DOWN].outputs) ||
                                 !fits(layers + UP, layers[DOWN].outputs, space)))
        return false;
    return space == encoder->dimension;
}

static bool ngram_fits(distill_encoder *encoder, const sections *file)
{
    const layer *factor = encoder->layers + FACTOR;
    encoder->features = factor->outputs ? factor->outputs : encoder->width;
    if (factor->outputs && factor->inputs != encoder->width)
        return false;
    for (size_t branch = 0; branch < encoder->branches; branch++)
        if (!branch_fits(encoder, file, branch))
            return false;
    encoder->offset = shaped(file, "pooling.offset", FLOAT32, encoder->layers[POOLING].outputs, 1);
    return encoder->offset && take_norm(&encoder->norm, file, "norm", encoder->features) && head_fits(encoder);
}

static bool block_fits(block *one, const sections *file, size_t place, size_t width, float epsilon)
{
    layer *layers = one->layers;
    size_t heads = layers[ATTENTION].inputs, hidden = layers[HIDDEN].outputs;
    for (size_t i = 0; i < BLOCK_NORMS; i++) {
        char name[2 * NAME];
        name_block(name, place, BLOCK_NORM_NAMES[i]);
        if (!take_norm(one->norms + i, file, name, width))
            return false;
        one->norms[i].epsilon = epsilon;
    }
    if (!fits(layers + LOOKED, width, 3 * heads) || !fits(layers + ATTENTION, heads, width) || heads % one->heads)
        return false;
    if (layers[WIDE].outputs && (layers[WIDE].inputs > hidden || layers[WIDE].outputs != width))
        return false;
    return fits(layers + HIDDEN, width, hidden) && fits(layers + NARROW, hidden - layers[WIDE].inputs, width);
}

static bool positions_fit(distill_encoder *encoder, const sections *file, size_t width)
{
    table *places = &encoder->places;
    encoder->positions = distill_section(file, "positions.codes", UINT8);
    places->width = width;
    places->codec = encoder->positions.data ? TABLE_UINT8 : TABLE_FLOAT32;
    if (!encoder->positions.data)
        encoder->positions = distill_section(file, "positions.embeddings", FLOAT32);
    places->codes = places->codec == TABLE_UINT8 ? encoder->positions.data : NULL;
    places->real = places->codec == TABLE_UINT8 ? NULL : encoder->positions.data;
    places->scales = shaped(file, "positions.scales", INT32, encoder->positions.rows, 1);
    return encoder->positions.rows && encoder->positions.columns == width && (places->real || places->scales);
}

static bool transformer_fits(distill_encoder *encoder, const sections *file)
{
    const layer *layers = encoder->layers;
    const float *epsilon = shaped(file, "epsilon", FLOAT32, 1, 1);
    size_t width = encoder->blocks[0].layers[LOOKED].inputs, last;
    encoder->features = width;
    if (!epsilon || !width || !positions_fit(encoder, file, width) || !take_norm(&encoder->norm, file, "positions.norm", width))
        return false;
    encoder->norm.epsilon = *epsilon;
    for (size_t place = 0; place < encoder->depth; place++)
        if (!block_fits(encoder->blocks + place, file, place, width, *epsilon))
            return false;
    if (layers[FACTOR].outputs ? !fits(layers + FACTOR, encoder->width, width) : encoder->width != width)
        return false;
    last = layers[DENSE].outputs ? layers[DENSE].outputs : width;
    if (layers[DENSE].outputs && layers[DENSE].inputs != width)
        return false;
    return layers[PROJECTION].outputs ? fits(layers + PROJECTION, last, encoder->dimension) : last == encoder->dimension;
}

/* Room for the blocks of a transformer: `numbers` are their count, heads, pooling and activations. */
static distill_status reserve_blocks(distill_encoder *encoder, const int32_t *numbers)
{
    if (numbers[0] < 1 || numbers[0] > MOST_BLOCKS || numbers[1] < 1 || numbers[1] > WIDEST)
        return DISTILL_NOT_AN_ENCODER;
    if (numbers[2] >= POOLINGS || numbers[3] >= ACTIVATIONS || numbers[4] >= ACTIVATIONS)
        return DISTILL_NEWER;
    encoder->blocks = calloc((size_t)numbers[0], sizeof *encoder->blocks);
    if (!encoder->blocks)
        return DISTILL_NO_MEMORY;
    encoder->depth = (size_t)numbers[0];
    encoder->pooling = numbers[2];
    encoder->behind = numbers[4];
    for (size_t place = 0; place < encoder->depth; place++) {
        encoder->blocks[place].heads = (size_t)numbers[1];
        encoder->blocks[place].activation = numbers[3];
    }
    return DISTILL_OK;
}

static distill_status take_settings(distill_encoder *encoder, const sections *file)
{
    const int32_t *settings = shaped(file, "settings", INT32, SETTINGS, 1);
    encoder->fingerprint = shaped(file, "fingerprint", UINT8, FINGERPRINT, 1);
    encoder->name = distill_section(file, "name", UINT8);
    if (!settings || !encoder->fingerprint)
        return DISTILL_NOT_AN_ENCODER;
    if (settings[0] != 1 || settings[1] < STATIC || settings[1] > TRANSFORMER || settings[7] < 0 ||
        settings[7] > TABLE_MIXED)
        return DISTILL_NEWER;
    for (size_t i = 2; i < SETTINGS; i++)
        if (settings[i] < 0)
            return DISTILL_NOT_AN_ENCODER;
    if (!settings[2] || !settings[3] || !settings[4] || settings[2] > WIDEST || settings[3] > WIDEST ||
        settings[4] > 1 << 24 || settings[5] == 1 || (settings[1] == NGRAM && settings[9] > MOST_BRANCHES))
        return DISTILL_NOT_AN_ENCODER;
    encoder->kind = settings[1];
    encoder->dimension = (size_t)settings[2];
    encoder->width = encoder->table.width = (size_t)settings[3];
    encoder->tokenizer.rows = (size_t)settings[4];
    encoder->most = (size_t)settings[5];
    encoder->table.codec = settings[7];
    if (encoder->kind == TRANSFORMER)
        return reserve_blocks(encoder, settings + 8);
    encoder->branches = encoder->kind == NGRAM ? (size_t)settings[9] : 0;
    for (size_t i = 0; i < MOST_BRANCHES; i++)
        encoder->orders[i] = (size_t)settings[encoder->kind == NGRAM ? 10 + i : i ? 9 : 8];
    for (size_t i = 0; i < (encoder->kind == NGRAM ? encoder->branches : 1); i++)
        if (encoder->orders[i] > MOST_ORDER || (encoder->kind == NGRAM && !encoder->orders[i]))
            return DISTILL_NOT_AN_ENCODER;
    return DISTILL_OK;
}

static bool network_fits(distill_encoder *encoder, const sections *file)
{
    if (encoder->kind == TRANSFORMER)
        return transformer_fits(encoder, file);
    return encoder->kind == NGRAM ? ngram_fits(encoder, file) : static_fits(encoder);
}

static distill_status take_encoder(distill_encoder *encoder, const void *bytes, size_t size)
{
    sections file;
    distill_status status = distill_open_sections(bytes, size, &file);
    encoder->kernel = best_products();
    if (!status)
        status = take_settings(encoder, &file);
    if (!status && !take_table(&encoder->table, &file, encoder->tokenizer.rows))
        status = DISTILL_NOT_AN_ENCODER;
    if (!status)
        status = take_layers(encoder, &file);
    if (!status && !network_fits(encoder, &file))
        status = DISTILL_NOT_AN_ENCODER;
    if (!status)
        encoder->answerable = shaped(&file, "answerable", FLOAT32, CALIBRATED_SCORES, CALIBRATED);
    if (!status)
        encoder->weight = shaped(&file, "passage_weight", INT32, 1, 1);
    if (encoder->weight && (*encoder->weight < 0 || *encoder->weight > MOST_WEIGHT))
        status = DISTILL_NOT_AN_ENCODER;
    for (size_t role = 0; role < ROLES && !status; role++) {
        encoder->prompts[role] = distill_section(&file, PROMPT_NAMES[role], UINT8);
        if (encoder->prompts[role].columns > 1 || encoder->prompts[role].rows >= LONGEST)
            status = DISTILL_NOT_AN_ENCODER;
    }
    return status ? status : take_tokenizer(&encoder->tokenizer, &file);
}

distill_status distill_open(const void *bytes, size_t size, distill_encoder **encoder)
{
    distill_status status;
    *encoder = calloc(1, sizeof **encoder);
    if (!*encoder)
        return DISTILL_NO_MEMORY;
    status = take_encoder(*encoder, bytes, size);
    if (status) {
        distill_close(*encoder);
        *encoder = NULL;
    }
    return status;
}

static void close_layer(layer *dense)
{
    free(dense->sums);
    free(dense->unpacked);
}

distill_span distill_name(const distill_encoder *encoder)
{
    distill_span name = {encoder->name.data, encoder->name.rows * encoder->name.columns};
    return name;
}

int32_t distill_passage_weight(const distill_encoder *encoder) { return encoder->weight ? *encoder->weight : 0; }

distill_span distill_fingerprint(const distill_encoder *encoder)
{
    distill_span fingerprint = {(const char *)encoder->fingerprint, FINGERPRINT};
    return fingerprint;
}

void distill_close(distill_encoder *encoder)
{
    if (!encoder)
        return;
    for (size_t place = 0; place < LAYERS; place++)
        close_layer(encoder->layers + place);
    for (size_t place = 0; place < encoder->depth * BLOCK_LAYERS; place++)
        close_layer(encoder->blocks[place / BLOCK_LAYERS].layers + place % BLOCK_LAYERS);
    free(encoder->blocks);
    free(encoder->tokenizer.tree.children);
    free(encoder->tokenizer.tree.ids);
    free(encoder->tokenizer.tree.labels);
    free(encoder->tokenizer.spelled);
    free(encoder);
}

size_t distill_dimension(const distill_encoder *encoder) { return encoder->dimension; }

/* The size of a text up to its first soft hyphen, U+00AD. */
static size_t up_to_hyphen(const char *text, size_t size)
{
    for (size_t i = 0; i + 1 < size; i++)
        if (text[i] == '\xc2' && text[i + 1] == '\xad')
            return i;
    return size;
}

/* A text without its soft hyphens, between which the parts of a word would be read as words. */
static distill_status append_joined(buffer *out, const char *text, size_t size)
{
    distill_status status = DISTILL_OK;
    while (size && !status) {
        size_t part = up_to_hyphen(text, size), taken = part < size ? part + 2 : part;
        status = append(out, text, part);
        text += taken;
        size -= taken;
    }
    return status;
}

/* A text as it is cut into pieces behind the prompt of its role, in `out`, which is to be freed in any case. */
static distill_status prompted(const distill_encoder *encoder, distill_role role, const char *text, size_t size, buffer *out)
{
    const array *prompt = encoder->prompts + (role == DISTILL_DOCUMENT);
    buffer whole = {NULL, 0, 0};
    distill_status status;
    if (!prompt->rows && up_to_hyphen(text, size) == size)
        return normal_of(&encoder->tokenizer, text, size, out);
    status = size < LONGEST ? append(&whole, prompt->rows ? prompt->data : "", prompt->rows) : DISTILL_TOO_LONG;
    if (!status)
        status = append_joined(&whole, text, size);
    if (!status)
        status = normal_of(&encoder->tokenizer, whole.bytes, whole.size, out);
    free(whole.bytes);
    return status;
}

distill_status distill_normalise(const distill_encoder *encoder, distill_role role, const char *text, size_t size,
                                 char *normal, size_t room, size_t *count)
{
    buffer out = {NULL, 0, 0};
    distill_status status = prompted(encoder, role, text, size, &out);
    *count = status ? 0 : out.size;
    if (!status && room)
        memcpy(normal, out.bytes, *count < room ? *count : room);
    free(out.bytes);
    return status;
}

/* The ids of a text behind the prompt of its role. */
static distill_status prompted_ids(const distill_encoder *encoder, distill_role role, const char *text, size_t size,
                                   int32_t **ids, size_t *count)
{
    buffer out = {NULL, 0, 0};
    distill_status status = prompted(encoder, role, text, size, &out);
    if (!status)
        status = cut(&encoder->tokenizer, (const uint8_t *)out.bytes, out.size, ids, count);
    free(out.bytes);
    return status;
}

/* The ids that the encoder takes: of a longer text the first and eos. */
static distill_status taken_ids(const distill_encoder *encoder, distill_role role, const char *text, size_t size,
                                int32_t **ids, size_t *count)
{
    distill_status status = prompted_ids(encoder, role, text, size, ids, count);
    if (!status && encoder->most && *count > encoder->most) {
        (*ids)[encoder->most - 1] = (*ids)[*count - 1];
        *count = encoder->most;
    }
    return status;
}

distill_status distill_tokenize(const distill_encoder *encoder, distill_role role, const char *text, size_t size,
                                int32_t *ids, size_t room, size_t *count)
{
    int32_t *all = NULL;
    distill_status status = taken_ids(encoder, role, text, size, &all, count);
    if (!status && room)
        memcpy(ids, all, (*count < room ? *count : room) * sizeof *ids);
    free(all);
    return status;
}

/* Memory for a text of some rows: `x` and `y` hold rows of a layer, `joined` the features of each. */
struct work {
    scratch space;
    float *x, *y, *z, *joined, *vector;
    float *looked;                 /* of a transformer: queries, keys and values of all heads, or hidden units */
    float *keys, *values, *scores; /* of a head, and the scores of a token */
    void *all;
};

static size_t widest(const distill_encoder *encoder, bool inputs)
{
    size_t most = encoder->features > encoder->width ? encoder->features : encoder->width;
    for (size_t place = 0; place < LAYERS; place++) {
        const layer *dense = encoder->layers + place;
        size_t size = inputs ? dense->inputs : dense->outputs;
        most = size > most ? size : most;
    }
    return most;
}

/* The most numbers of a row that a layer of all rows gives. */
static size_t widest_row(const distill_encoder *encoder)
{
    size_t most = encoder->width;
    if (encoder->kind != NGRAM)
        return encoder->orders[0] && encoder->layers[CONTEXT_FIRST].outputs > most
                   ? encoder->layers[CONTEXT_FIRST].outputs
                   : most;
    for (size_t branch = 0; branch < encoder->branches; branch++) {
        size_t channels = encoder->layers[BRANCHES + 3 * branch].outputs;
        most = channels > most ? channels : most;
    }
    return encoder->layers[FACTOR].outputs > most ? encoder->layers[FACTOR].outputs : most;
}

static distill_status reserve(const distill_encoder *encoder, size_t count, work *room)
{
    size_t inputs = widest(encoder, true), outputs = widest(encoder, false), row = widest_row(encoder);
    size_t each = 3 * row + encoder->features, once = inputs + (4 + BLOCK) * outputs + 2 * BLOCK + BLOCK * inputs / 4 + ALIGNMENT;
    float *next;
    if (count > (SIZE_MAX / sizeof *next - once) / each)
        return DISTILL_TOO_LONG;
    room->all = next = malloc((count * each + once) * sizeof *next);
    if (!next)
        return DISTILL_NO_MEMORY;
    room->x = next;
    room->y = (next += count * row);
    room->z = (next += count * row);
    room->joined = (next += count * row);
    room->vector = (next += count * encoder->features);
    room->space.window = (next += 4 * outputs);
    room->space.steps = (next += inputs);
    room->space.zeros = (int32_t *)(next += BLOCK);
    room->space.products = (int32_t *)(next += BLOCK);
    room->space.codes = aligned(next + BLOCK * outputs);
    return DISTILL_OK;
}

/* Sums of products go over tiles of so many numbers, which stay in registers. */
enum { TILE = 16 };

static size_t in_tiles(size_t n) { return (n + TILE - 1) / TILE * TILE; }

/* The most numbers of a row that a layer of a transformer reads or gives. */
static size_t widest_token(const distill_encoder *encoder)
{
    size_t inputs = widest(encoder, true), most = widest(encoder, false);
    most = inputs > most ? inputs : most;
    for (size_t place = 0; place < encoder->depth * BLOCK_LAYERS; place++) {
        const layer *one = encoder->blocks[place / BLOCK_LAYERS].layers + place % BLOCK_LAYERS;
        most = one->inputs > most ? one->inputs : most;
        most = one->outputs > most ? one->outputs : most;
    }
    return most;
}

/* The same for the tokens of a transformer, of which three hold as much as its widest layer. */
static distill_status reserve_tokens(const distill_encoder *encoder, size_t count, work *room)
{
    size_t width = encoder->features, most = widest_token(encoder);
    size_t tokens = in_tiles(count), size = in_tiles(most);
    size_t each = width + 3 * most + size + most + 1, once = 3 * most + 2 * BLOCK + BLOCK * most + BLOCK * most / 4 + ALIGNMENT;
    float *next;
    once += TILE * (most + 1);
    if (count > (SIZE_MAX / sizeof *next - once) / each)
        return DISTILL_TOO_LONG;
    room->all = next = malloc((count * each + once) * sizeof *next);
    if (!next)
        return DISTILL_NO_MEMORY;
    room->x = next;
    room->y = (next += count * width);
    room->looked = (next += count * most);
    room->joined = room->z = (next += count * most);
    room->keys = (next += count * most);
    room->values = (next += tokens * most);
    room->scores = (next += count * size);
    room->vector = (next += tokens);
    room->space.window = (next += most);
    room->space.steps = (next += most);
    room->space.zeros = (int32_t *)(next += BLOCK);
    room->space.products = (int32_t *)(next += BLOCK);
    room->space.codes = aligned(next + BLOCK * most);
    return DISTILL_OK;
}

static void dense(const distill_encoder *encoder, size_t place, const float *x, bool relu, const work *room, float *y)
{
    const layer *one = encoder->layers + place;
    rows in = {x, 1, one->inputs, 1, one->inputs};
    dense_rows(&encoder->kernel, one, &in, relu, &room->space, y);
}

static void add(float *x, const float *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] += y[i];
}

static void positive(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = x[i] > 0 ? x[i] : 0;
}

/* The vector of a static encoder, of the rows at `room->x`. */
static void static_vector(const distill_encoder *encoder, size_t count, work *room, float *vector)
{
    size_t width = encoder->width;
    float *sum = room->vector, *hidden = sum + width;
    if (encoder->orders[0]) {
        rows windows = {room->x, count, width, encoder->orders[0], width};
        size_t channels = encoder->layers[CONTEXT_FIRST].outputs;
        rows between = {room->y, count, channels, 1, channels};
        dense_rows(&encoder->kernel, encoder->layers + CONTEXT_FIRST, &windows, true, &room->space, room->y);
        dense_rows(&encoder->kernel, encoder->layers + CONTEXT_SECOND, &between, false, &room->space, room->z);
        add(room->x, room->z, count * width);
    }
    memcpy(sum, room->x, width * sizeof *sum);
    for (size_t row = 1; row < count; row++)
        add(sum, room->x + row * width, width);
    unit(sum, width);
    dense(encoder, FIRST, sum, true, room, hidden);
    dense(encoder, SECOND, hidden, false, room, room->y);
    add(sum, room->y, width);
    dense(encoder, LIFT, sum, false, room, vector);
}

/* Put rows of a branch side by side with what stands there already. */
static void place_columns(const distill_encoder *encoder, const float *x, size_t count, size_t width, size_t column,
                          work *room)
{
    for (size_t row = 0; row < count; row++)
        memcpy(room->joined + row * encoder->features + column, x + row * width, width * sizeof *x);
}

static void branch_rows(const distill_encoder *encoder, size_t branch, size_t count, work *room)
{
    const layer *layers = encoder->layers + BRANCHES + 3 * branch;
    size_t channels = layers->outputs;
    rows in = {room->x, count, encoder->width, 1, encoder->width};
    rows windows = {room->y, count, channels, encoder->orders[branch], channels};
    dense_rows(&encoder->kernel, layers, &in, false, &room->space, room->y);
    for (size_t row = 0; row < count; row++)
        normalise(encoder->norms + branch, room->y + row * channels, channels);
    for (size_t place = 1; place < 3 && layers[place].outputs; place++) {
        dense_rows(&encoder->kernel, layers + place, &windows, true, &room->space, room->z);
        add(room->y, room->z, count * channels);
    }
}

/* The sum of the normalised features of all rows at `room->x`, to `sum`. */
static void sum_features(const distill_encoder *encoder, size_t count, work *room, float *sum)
{
    size_t column = encoder->layers[FACTOR].outputs ? encoder->layers[FACTOR].outputs : encoder->width;
    rows in = {room->x, count, encoder->width, 1, encoder->width};
    const float *first = room->x;
    if (encoder->layers[FACTOR].outputs) {
        dense_rows(&encoder->kernel, encoder->layers + FACTOR, &in, false, &room->space, room->y);
        first = room->y;
    }
    place_columns(encoder, first, count, column, 0, room);
    for (size_t branch = 0; branch < encoder->branches; branch++) {
        size_t channels = encoder->layers[BRANCHES + 3 * branch].outputs;
        branch_rows(encoder, branch, count, room);
        place_columns(encoder, room->y, count, channels, column, room);
        column += channels;
    }
    memset(sum, 0, encoder->features * sizeof *sum);
    for (size_t row = 0; row < count; row++) {
        normalise(&encoder->norm, room->joined + row * encoder->features, encoder->features);
        add(sum, room->joined + row * encoder->features, encoder->features);
    }
}

/* The network behind the sum of the features: `x` are the two halves of its first product. */
static void head(const distill_encoder *encoder, float *x, size_t hidden, const work *room, float *vector)
{
    size_t space = encoder->layers[FOURTH].outputs;
    float *between = x + 2 * hidden, *h = x + hidden;
    positive(x, hidden);
    dense(encoder, SECOND, x, false, room, between);
    add(h, between, hidden);
    positive(h, hidden);
    dense(encoder, THIRD, h, true, room, between);
    dense(encoder, FOURTH, between, false, room, vector);
    dense(encoder, FOURTH_SKIP, h, false, room, between);
    add(vector, between, space);
    for (size_t i = 0; i < space; i++)
        vector[i] = tanhf(vector[i]);
}

static void project(const distill_encoder *encoder, const float *x, float *between, const work *room, float *vector)
{
    size_t dimension = encoder->dimension;
    if (encoder->layers[PROJECTION].outputs) {
        dense(encoder, PROJECTION, x, false, room, vector);
        return;
    }
    if (encoder->layers[DOWN].outputs) {
        dense(encoder, DOWN, x, false, room, between);
        dense(encoder, UP, between, false, room, vector);
    }
    for (size_t i = 0; i < dimension; i++)
        vector[i] = encoder->layers[DOWN].outputs ? x[i] - vector[i] : x[i];
}

/* The vector of an n-gram encoder, of the rows at `room->x`. */
static void ngram_vector(const distill_encoder *encoder, size_t count, work *room, float *vector)
{
    size_t outputs = encoder->layers[POOLING].outputs, most = widest(encoder, false);
    float *sum = room->vector, *pooled = sum + most, *last = room->vector;
    float root = sqrtf((float)count);
    sum_features(encoder, count, room, sum);
    dense(encoder, POOLING, sum, false, room, pooled);
    for (size_t i = 0; i < outputs; i++)
        pooled[i] = (pooled[i] + (float)count * encoder->offset[i]) / root;
    head(encoder, pooled, outputs / 2, room, last);
    project(encoder, last, pooled, room, vector);
}

/* ---- Transformers ---- */

/* a b + c, rounded once by the processor, or else as numbers of 64 bits, which hold a product to the last bit: one of a
   hundred millions is rounded otherwise. What a row is rounded to depends on the last bits, so these functions follow
   LiteRT's step by step. */
static inline float multiply_add(bool fused, float a, float b, float c)
{
    return fused ? fmaf(a, b, c) : (float)((double)a * b + c);
}

/* e^x of x <= 0, 0 below the least power: 2^k times a polynomial of degree 5, as LiteRT's softmax has it. */
static inline float exponential(bool fused, float x)
{
    const float shift = 12583039, least = -87.33654f; /* 1.5 2^23 and 127, the exponent's zero */
    float power, rest, sum, whole = multiply_add(fused, x, 1.442695f, shift);
    uint32_t bits;
    memcpy(&bits, &whole, sizeof bits);
    bits <<= 23;
    memcpy(&power, &bits, sizeof power);
    whole -= shift;
    /* ln 2 in two parts. */
    rest = multiply_add(fused, whole, -.693145752f, x);
    rest = multiply_add(fused, whole, -1.42860677e-6f, rest);
    sum = multiply_add(fused, .00828929059f, rest, .0418978221f);
    sum = multiply_add(fused, sum, rest, .166676521f);
    sum = multiply_add(fused, sum, rest, .499991506f);
    sum = multiply_add(fused, sum, rest, .999999702f);
    rest *= power;
    sum = multiply_add(fused, rest, sum, power);
    return x < least ? 0 : sum;
}

/* x / 2 (1 + erf(x / sqrt(2))), with LiteRT's rational function in place of erf. */
static inline float gelu(bool fused, float x)
{
    const float most = 5.16382837f;
    float inner = x < most ? x : most, square, above, below, erf;
    inner = inner > -most ? inner : -most;
    square = inner * inner;
    above = multiply_add(fused, square, 4.5835321e-8f, 1.26097839e-5f);
    above = multiply_add(fused, square, above, 3.29731149e-4f);
    above = multiply_add(fused, square, above, 9.3065137e-3f);
    above = multiply_add(fused, square, above, 6.69721738e-2f);
    above = multiply_add(fused, square, above, 7.97884524e-1f);
    above = inner * above;
    below = multiply_add(fused, square, 1.19888057e-6f, 7.22676559e-5f);
    below = multiply_add(fused, square, below, 1.86228426e-3f);
    below = multiply_add(fused, square, below, 2.84319781e-2f);
    below = multiply_add(fused, square, below, 2.50603527e-1f);
    below = multiply_add(fused, square, below, 1);
    erf = above / below;
    return x * .5f * (erf + 1);
}

/* x / 2 (1 + tanh(u)) is x / (1 + e^-2u). */
static inline float gelu_tanh(bool fused, float x)
{
    float u = 1.59576912f * (x + .044715f * x * x * x), power = exponential(fused, u > 0 ? -u : u);
    return u > 0 ? x / (1 + power) : x * power / (1 + power);
}

static inline void activate(bool fused, int32_t activation, float *x, size_t n)
{
    switch (activation) {
    case GELU:
        for (size_t i = 0; i < n; i++)
            x[i] = gelu(fused, x[i]);
        break;
    case GELU_TANH:
        for (size_t i = 0; i < n; i++)
            x[i] = gelu_tanh(fused, x[i]);
        break;
    case RELU: positive(x, n); break;
    case TANH:
        for (size_t i = 0; i < n; i++)
            x[i] = tanhf(x[i]);
        break;
    default: break;
    }
}

/* gcc makes TILE numbers of what it unrolls before it makes registers of it. */
#if defined(__GNUC__) && !defined(__clang__)
#define AS_A_LOOP _Pragma("GCC unroll 1")
#else
#define AS_A_LOOP
#endif

/* The sums over `n` of x[i] times the TILE numbers at y + i stride, in order. */
static inline void sum_tile(bool fused, const float *x, const float *y, size_t stride, size_t n, float sums[TILE])
{
    for (size_t j = 0; j < TILE; j++)
        sums[j] = 0;
    for (size_t i = 0; i < n; i++)
        AS_A_LOOP
        for (size_t j = 0; j < TILE; j++)
            sums[j] = multiply_add(fused, x[i], y[i * stride + j], sums[j]);
}

static inline void softmax(bool fused, float *x, size_t n)
{
    /* Sums go over two registers, four at a time, then over one. */
    enum { SUMS = 16, FOUR = 4 * SUMS };
    float greatest = x[0], sums[SUMS] = {0}, others[SUMS] = {0}, share;
    size_t whole = n / FOUR * FOUR;
    for (size_t i = 1; i < n; i++)
        greatest = x[i] > greatest ? x[i] : greatest;
    for (size_t i = 0; i < n; i++)
        x[i] = exponential(fused, x[i] - greatest);
    for (size_t i = 0; i < whole; i += 2 * SUMS)
        for (size_t j = 0; j < SUMS; j++) {
            sums[j] += x[i + j];
            others[j] += x[i + SUMS + j];
        }
    for (size_t j = 0; j < SUMS; j++)
        sums[j] += others[j];
    for (size_t i = whole; i < n; i++)
        sums[i % SUMS] += x[i];
    for (size_t half = SUMS / 2; half; half /= 2)
        for (size_t i = 0; i < half; i++)
            sums[i] += sums[i + half];
    share = 1 / sums[0];
    for (size_t i = 0; i < n; i++)
        x[i] *= share;
}

/* The keys of a head, and its values, by numbers and with zeros behind them, so that both are whole tiles. */
static void lay_out(const float *looked, size_t count, size_t width, size_t size, const work *room)
{
    size_t tokens = in_tiles(count), numbers = in_tiles(size);
    memset(room->keys, 0, size * tokens * sizeof *room->keys);
    memset(room->values, 0, count * numbers * sizeof *room->values);
    for (size_t token = 0; token < count; token++) {
        const float *key = looked + token * 3 * width + width;
        for (size_t i = 0; i < size; i++)
            room->keys[i * tokens + token] = key[i];
        memcpy(room->values + token * numbers, key + width, size * sizeof *key);
    }
}

/* Each token's mean of the values of a head that it looks at, to `means`. Rows of `looked` are the queries of all heads, of
   which the scores' divisor is a part, their keys and their values; both begin at this head's. */
static inline void attend(bool fused, const float *looked, size_t count, size_t width, size_t size, const work *room,
                          float *means)
{
    size_t tokens = in_tiles(count), numbers = in_tiles(size);
    float sums[TILE];
    lay_out(looked, count, width, size, room);
    for (size_t token = 0; token < count; token++) {
        for (size_t tile = 0; tile < tokens; tile += TILE) {
            sum_tile(fused, looked + token * 3 * width, room->keys + tile, tokens, size, sums);
            memcpy(room->scores + tile, sums, sizeof sums);
        }
        softmax(fused, room->scores, count);
        for (size_t tile = 0; tile < numbers; tile += TILE) {
            sum_tile(fused, room->scores, room->values + tile, numbers, count, sums);
            memcpy(means + token * width + tile, sums, (size - tile < TILE ? size - tile : TILE) * sizeof *sums);
        }
    }
}

static void add_normalised(float *x, const float *y, const norm *layer_norm, size_t count, size_t width)
{
    add(x, y, count * width);
    for (size_t row = 0; row < count; row++)
        normalise(layer_norm, x + row * width, width);
}

/* Devlin et al. (2019), section 3. Written once for all processors: a compiler makes one of it for each. */
static inline void through_block(bool fused, const kernels *kernel, const block *one, size_t count, const work *room)
{
    const layer *layers = one->layers;
    size_t width = layers[LOOKED].inputs, heads = layers[ATTENTION].inputs, inner = layers[HIDDEN].outputs;
    size_t wide = layers[WIDE].inputs, size = heads / one->heads;
    rows in = {room->x, count, width, 1, width}, means = {room->y, count, heads, 1, heads};
    rows hidden = {room->looked, count, wide, 1, inner}, others = {room->looked + wide, count, inner - wide, 1, inner};
    dense_rows(kernel, layers + LOOKED, &in, false, &room->space, room->looked);
    for (size_t head = 0; head < one->heads; head++)
        attend(fused, room->looked + head * size, count, heads, size, room, room->y + head * size);
    dense_rows(kernel, layers + ATTENTION, &means, false, &room->space, room->z);
    add_normalised(room->x, room->z, one->norms + ATTENTION_NORM, count, width);
    dense_rows(kernel, layers + HIDDEN, &in, false, &room->space, room->looked);
    activate(fused, one->activation, room->looked, count * inner);
    dense_rows(kernel, layers + NARROW, &others, false, &room->space, room->z);
    if (wide) {
        dense_rows(kernel, layers + WIDE, &hidden, false, &room->space, room->y);
        add(room->z, room->y, count * width);
    }
    add_normalised(room->x, room->z, one->norms + LAST_NORM, count, width);
}

/* One of these is the block of `best_products`. */
#if defined(X86)

static void block_by_hand(const kernels *kernel, const block *one, size_t count, const work *room)
{
    through_block(false, kernel, one, count, room);
}

__attribute__((flatten, target("avx2,fma"))) static void block_by_avx2(const kernels *kernel, const block *one,
                                                                       size_t count, const work *room)
{
    through_block(true, kernel, one, count, room);
}

__attribute__((flatten, target(VNNI ",fma"))) static void block_by_vnni(const kernels *kernel, const block *one,
                                                                        size_t count, const work *room)
{
    through_block(true, kernel, one, count, room);
}

#elif defined(NEON)

static void block_by_hand(const kernels *kernel, const block *one, size_t count, const work *room)
{
    through_block(true, kernel, one, count, room);
}

#else

static void block_by_hand(const kernels *kernel, const block *one, size_t count, const work *room)
{
    through_block(false, kernel, one, count, room);
}

#endif

/* One row of all tokens, to `pooled`. */
static void pool(int32_t pooling, const float *x, size_t count, size_t width, float *pooled)
{
    memcpy(pooled, x, width * sizeof *pooled);
    for (size_t row = 1; row < count && pooling != POOL_FIRST; row++)
        for (size_t i = 0; i < width; i++) {
            float number = x[row * width + i];
            pooled[i] = pooling == POOL_MEAN ? pooled[i] + number : number > pooled[i] ? number : pooled[i];
        }
    for (size_t i = 0; i < width && pooling == POOL_MEAN; i++)
        pooled[i] /= (float)count;
}

/* The vector of a transformer, of the rows of its table at `room->joined`. */
static void transformer_vector(const distill_encoder *encoder, size_t count, work *room, float *vector)
{
    const layer *layers = encoder->layers;
    size_t width = encoder->features, last = encoder->positions.rows - 1;
    rows in = {room->joined, count, encoder->width, 1, encoder->width};
    float *pooled = room->vector, *between = room->z;
    if (layers[FACTOR].outputs)
        dense_rows(&encoder->kernel, layers + FACTOR, &in, false, &room->space, room->x);
    else
        memcpy(room->x, room->joined, count * width * sizeof *room->x);
    for (size_t row = 0; row < count; row++) {
        table_row(&encoder->places, row < last ? row : last, room->y);
        add_normalised(room->x + row * width, room->y, &encoder->norm, 1, width);
    }
    for (size_t place = 0; place < encoder->depth; place++)
        encoder->kernel.block(&encoder->kernel, encoder->blocks + place, count, room);
    pool(encoder->pooling, room->x, count, width, pooled);
    if (layers[DENSE].outputs) {
        dense(encoder, DENSE, pooled, false, room, between);
        activate(false, encoder->behind, between, layers[DENSE].outputs);
        pooled = between;
    }
    if (layers[PROJECTION].outputs)
        dense(encoder, PROJECTION, pooled, false, room, vector);
    else
        memcpy(vector, pooled, encoder->dimension * sizeof *vector);
}

distill_status distill_encode(const distill_encoder *encoder, distill_role role, const char *text, size_t size,
                              float *vector)
{
    int32_t *ids = NULL;
    size_t count = 0;
    work room = {{NULL, NULL, NULL, NULL, NULL}, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL};
    distill_status status = taken_ids(encoder, role, text, size, &ids, &count);
    if (!status)
        status = encoder->kind == TRANSFORMER ? reserve_tokens(encoder, count, &room) : reserve(encoder, count, &room);
    if (!status) {
        float *looked_up = encoder->kind == TRANSFORMER ? room.joined : room.x;
        for (size_t row = 0; row < count; row++)
            table_row(&encoder->table, (size_t)ids[row], looked_up + row * encoder->width);
        if (encoder->kind == TRANSFORMER)
            transformer_vector(encoder, count, &room, vector);
        else if (encoder->kind == NGRAM)
            ngram_vector(encoder, count, &room, vector);
        else
            static_vector(encoder, count, &room, vector);
        unit(vector, encoder->dimension);
    }
    free(room.all);
    free(ids);
    return status;
}

/* ---- The index ---- */

/* Stored unit rows: a number is its code times the scale of its row. `longest` bounds the length of a row. */
typedef struct {
    const uint8_t *codes;
    const float *scales;
    size_t count, bytes;
    float longest;
} stored;

struct distill_index {
    kernels kernel;
    size_t dimension, count, per_block;
    int32_t score;
    /* What the score of a passage's own vector and that of its best sentence are multiplied by. */
    float of_passage, of_sentence;
    bool packed;
    stored passages, sentences;
    const uint32_t *starts, *bounds, *lengths, *document_of;
    const uint64_t *document_starts, *blocks;
    const uint8_t *documents, *text;
    size_t document_count, block_count;
    size_t bits, again;       /* of a number; passages to be scored again */
    int8_t values[256][8];    /* of fewer bits than 8, the numbers in a byte */
};

static bool ascends32(const uint32_t *numbers, size_t count, size_t end)
{
    for (size_t i = 0; i < count; i++)
        if (numbers[i + 1] < numbers[i])
            return false;
    return numbers[0] == 0 && numbers[count] == end;
}

static bool ascends64(const uint64_t *numbers, size_t count, size_t end)
{
    for (size_t i = 0; i < count; i++)
        if (numbers[i + 1] < numbers[i])
            return false;
    return numbers[0] == 0 && numbers[count] == end;
}

static distill_status take_numbers(distill_index *index, const sections *file)
{
    const int32_t *numbers = shaped(file, "numbers", INT32, SETTINGS, 1);
    if (!numbers)
        return DISTILL_NOT_AN_INDEX;
    if (numbers[0] != 1 || (numbers[3] != 8 && numbers[3] != 4 && numbers[3] != 2 && numbers[3] != 1) ||
        numbers[2] != numbers[1] || numbers[4] < SCORE_VECTOR ||
        numbers[4] > SCORE_SUM || numbers[5] < 0 || numbers[5] > 1)
        return DISTILL_NEWER;
    if (numbers[1] < 1 || numbers[1] > WIDEST || numbers[6] < 1 || numbers[7] < 0)
        return DISTILL_NOT_AN_INDEX;
    if (numbers[8] < 0 || numbers[8] > MOST_WEIGHT)
        return DISTILL_NOT_AN_INDEX;
    index->bits = (size_t)numbers[3];
    index->again = (size_t)numbers[7];
    index->dimension = (size_t)numbers[1];
    index->score = numbers[4];
    index->of_passage = index->of_sentence = 1;
    if (numbers[4] == SCORE_SUM && numbers[8]) {
        index->of_passage = 2 * (float)numbers[8] / (float)(1000 + numbers[8]);
        index->of_sentence = 2000 / (float)(1000 + numbers[8]);
    }
    index->packed = numbers[5];
    index->per_block = (size_t)numbers[6];
    return DISTILL_OK;
}

/* The values of all bytes: the first number is in the lowest bits, and numbers are odd. */
static void fill_values(distill_index *index)
{
    int32_t levels = 1 << index->bits;
    for (int32_t byte = 0; byte < 256; byte++)
        for (size_t i = 0; i < 8 / index->bits; i++)
            index->values[byte][i] = (int8_t)(2 * (byte >> (i * index->bits) & (levels - 1)) + 1 - levels);
}

static bool take_stored(stored *all, const distill_index *index, const sections *file, const char *name)
{
    array codes = part_of(file, name, "_vectors", index->bits == 8 ? INT8 : UINT8);
    array scales = part_of(file, name, "_scales", FLOAT32);
    float most = 0;
    all->codes = codes.data;
    all->scales = scales.data;
    all->count = codes.rows;
    all->bytes = (index->dimension * index->bits + 7) / 8;
    if (!codes.data || !scales.data || codes.columns != all->bytes || scales.rows != codes.rows || scales.columns != 1)
        return false;
    for (size_t row = 0; row < all->count; row++) {
        /* What is no number is not within. */
        if (!(all->scales[row] >= 0 && all->scales[row] <= GREATEST_SCALE))
            return false;
        most = all->scales[row] > most ? all->scales[row] : most;
    }
    /* Whole bytes are of unit length, but for their rounding. */
    all->longest = index->bits == 8 ? 1.01f : most * (float)((1 << index->bits) - 1) * sqrtf((float)index->dimension);
    return true;
}

static bool take_sentences(distill_index *index, const sections *file)
{
    array bounds = distill_section(file, "sentence_bounds", UINT32);
    index->starts = shaped(file, "sentence_starts", UINT32, index->count + 1, 1);
    index->bounds = bounds.data;
    if (!index->starts || !bounds.data || bounds.columns != 2 || !ascends32(index->starts, index->count, bounds.rows))
        return false;
    if (index->score == SCORE_VECTOR)
        return true;
    /* Each passage has one at least. */
    for (size_t i = 0; i < index->count; i++)
        if (index->starts[i] == index->starts[i + 1])
            return false;
    return take_stored(&index->sentences, index, file, "sentence") && index->sentences.count == bounds.rows;
}

static bool take_texts(distill_index *index, const sections *file)
{
    array text = distill_section(file, "text", UINT8), documents = distill_section(file, "documents", UINT8);
    array starts = distill_section(file, "document_starts", UINT64);
    index->block_count = (index->count + index->per_block - 1) / index->per_block;
    index->lengths = shaped(file, "text_lengths", UINT32, index->count, 1);
    index->blocks = shaped(file, "text_blocks", UINT64, index->block_count + 1, 1);
    index->document_of = shaped(file, "document_of", UINT32, index->count, 1);
    index->text = text.data;
    index->documents = documents.data;
    index->document_starts = starts.data;
    if (!text.data || !documents.data || !starts.data || !starts.rows || starts.columns != 1 || !index->lengths ||
        !index->blocks || !index->document_of)
        return false;
    index->document_count = starts.rows - 1;
    return ascends64(index->blocks, index->block_count, text.rows) &&
           ascends64(index->document_starts, index->document_count, documents.rows);
}

/* True where the encoder's fingerprint stands in the index's card, as its documents' or its questions'. */
static bool made_by(const distill_encoder *encoder, const sections *file)
{
    array card = distill_section(file, "card", UINT8);
    const char *text = card.data;
    for (size_t i = 0; text && i + FINGERPRINT <= card.rows; i++)
        if (!memcmp(text + i, encoder->fingerprint, FINGERPRINT))
            return true;
    return false;
}

static distill_status take_index(distill_index *index, const void *bytes, size_t size, const distill_encoder *encoder)
{
    sections file;
    distill_status status = distill_open_sections(bytes, size, &file);
    index->kernel = best_products();
    if (!status)
        status = take_numbers(index, &file);
    if (status)
        return status;
    if (index->bits < 8)
        fill_values(index);
    if (!take_stored(&index->passages, index, &file, "passage"))
        return DISTILL_NOT_AN_INDEX;
    index->count = index->passages.count;
    if (index->count >= UINT32_MAX || !take_sentences(index, &file) || !take_texts(index, &file))
        return DISTILL_NOT_AN_INDEX;
    if (encoder && (encoder->dimension != index->dimension || !made_by(encoder, &file)))
        return DISTILL_OTHER_ENCODER;
    return DISTILL_OK;
}

distill_status distill_index_open(const void *bytes, size_t size, const distill_encoder *encoder,
                                  distill_index **index)
{
    distill_status status;
    *index = calloc(1, sizeof **index);
    if (!*index)
        return DISTILL_NO_MEMORY;
    status = take_index(*index, bytes, size, encoder);
    if (status) {
        free(*index);
        *index = NULL;
    }
    return status;
}

void distill_index_close(distill_index *index) { free(index); }

size_t distill_passages(const distill_index *index) { return index->count; }

size_t distill_index_dimension(const distill_index *index) { return index->dimension; }

/* A question in whole numbers, those above 0 and those below apart, and what the rounding left of it, a length. `codes`
   is room for rows of fewer bits, a byte a number. */
typedef struct {
    const float *vector;
    uint8_t *above, *below;
    int8_t *codes;
    float step, left;
} question;

static void round_question(question *asked, size_t n)
{
    float most = 0, off = 0;
    for (size_t i = 0; i < n; i++)
        most = fabsf(asked->vector[i]) > most ? fabsf(asked->vector[i]) : most;
    asked->step = most / 127;
    for (size_t i = 0; i < n; i++) {
        float code = most > 0 ? whole_number(asked->vector[i] / asked->step, -127, 127) : 0;
        float left = asked->vector[i] - code * asked->step;
        asked->above[i] = (uint8_t)(code > 0 ? code : 0);
        asked->below[i] = (uint8_t)(code < 0 ? -code : 0);
        off += left * left;
    }
    asked->left = sqrtf(off);
}

/* What a quick score may be off by, with what sums in float32 may be. */
static float error_of(const distill_index *index, const question *asked)
{
    float passage = asked->left * index->passages.longest + 1e-5f;
    float sentence = asked->left * index->sentences.longest + 1e-5f;
    return (index->score == SCORE_SENTENCE ? 0 : index->of_passage * passage) +
           (index->score == SCORE_VECTOR ? 0 : index->of_sentence * sentence);
}

/* Some rows with a byte a number: where they lie, or decoded. */
static const int8_t *rows_of(const distill_index *index, const stored *all, size_t first, size_t count, int8_t *room)
{
    size_t each = 8 / index->bits;
    if (index->bits == 8)
        return (const int8_t *)all->codes + first * all->bytes;
    for (size_t row = 0; row < count; row++) {
        const uint8_t *codes = all->codes + (first + row) * all->bytes;
        int8_t *values = room + row * index->dimension;
        for (size_t i = 0; i < index->dimension; i += each) {
            size_t left = index->dimension - i;
            memcpy(values + i, index->values[*codes++], left < each ? left : each);
        }
    }
    return room;
}

enum { SOME = 64 };

/* Products of a rounded question with some rows, `SOME` at most. */
static void quick_products(const distill_index *index, const stored *all, const question *asked, size_t first,
                           size_t count, float *products)
{
    int32_t above[SOME], below[SOME];
    const int8_t *codes = rows_of(index, all, first, count, asked->codes);
    all_products(index->kernel.four, asked->above, codes, index->dimension, count, above);
    all_products(index->kernel.four, asked->below, codes, index->dimension, count, below);
    for (size_t i = 0; i < count; i++)
        products[i] = (float)(above[i] - below[i]) * asked->step * all->scales[first + i];
}

/* Quick scores of all passages. */
static void quick_scores(const distill_index *index, const question *asked, float *scores)
{
    float products[SOME];
    for (size_t first = 0; first < index->count; first += SOME) {
        size_t count = index->count - first < SOME ? index->count - first : SOME;
        if (index->score == SCORE_SENTENCE)
            memset(scores + first, 0, count * sizeof *scores);
        else
            quick_products(index, &index->passages, asked, first, count, scores + first);
    }
    if (index->score == SCORE_VECTOR)
        return;
    for (size_t first = 0, passage = 0; first < index->sentences.count; first += SOME) {
        size_t left = index->sentences.count - first, count = left < SOME ? left : SOME;
        quick_products(index, &index->sentences, asked, first, count, products);
        for (size_t i = 0; i < count; i++) {
            /* The best of a passage so far stands behind its last, and is added then. */
            passage += first + i == index->starts[passage + 1];
            if (first + i == index->starts[passage])
                scores[index->count + passage] = products[i];
            else if (products[i] > scores[index->count + passage])
                scores[index->count + passage] = products[i];
        }
    }
    for (size_t passage = 0; passage < index->count; passage++)
        scores[passage] = index->of_passage * scores[passage] + index->of_sentence * scores[index->count + passage];
}

/* The product of a question with a row, the same on every machine. */
static double exact_product(const distill_index *index, const stored *all, const question *asked, size_t row)
{
    const int8_t *codes = rows_of(index, all, row, 1, asked->codes);
    double sum = 0;
    for (size_t i = 0; i < index->dimension; i++)
        sum += (double)codes[i] * (double)asked->vector[i];
    return sum * (double)all->scales[row];
}

static distill_hit exact_hit(const distill_index *index, const question *asked, size_t passage)
{
    distill_hit hit = {(uint32_t)passage, DISTILL_NONE, 0};
    double best = 0, whole = 0;
    if (index->score != SCORE_VECTOR)
        for (uint32_t row = index->starts[passage]; row < index->starts[passage + 1]; row++) {
            double score = exact_product(index, &index->sentences, asked, row);
            if (hit.sentence == DISTILL_NONE || score > best) {
                best = score;
                hit.sentence = row;
            }
        }
    if (index->score != SCORE_SENTENCE)
        whole = exact_product(index, &index->passages, asked, passage);
    hit.score = (float)((double)index->of_passage * whole + (double)index->of_sentence * best);
    return hit;
}

/* What is no number is behind all others: an order is one for every score. */
static float ranked(float score) { return score == score ? score : -INFINITY; }

static bool better(const distill_hit *a, const distill_hit *b)
{
    float one = ranked(a->score), other = ranked(b->score);
    return one > other || (one == other && a->passage < b->passage);
}

/* Put a hit among the best, of which there are `count`, `k` at most: a heap with the worst at its root. */
static void keep(distill_hit *hits, size_t *count, size_t k, distill_hit hit)
{
    size_t place;
    if (*count == k && !better(&hit, hits))
        return;
    if (*count < k) {
        for (place = (*count)++; place && better(hits + (place - 1) / 2, &hit); place = (place - 1) / 2)
            hits[place] = hits[(place - 1) / 2];
        hits[place] = hit;
        return;
    }
    for (place = 0; 2 * place + 1 < k;) {
        size_t child = 2 * place + 1;
        child += child + 1 < k && better(hits + child, hits + child + 1);
        if (better(hits + child, &hit))
            break;
        hits[place] = hits[child];
        place = child;
    }
    hits[place] = hit;
}

static int best_first(const void *left, const void *right)
{
    return better(left, right) ? -1 : better(right, left) ? 1 : 0;
}

void distill_sort(distill_hit *hits, size_t count) { qsort(hits, count, sizeof *hits, best_first); }

/* The height of a line at x; its points ascend. */
static float height(const float *at, const float *heights, float x)
{
    size_t place = 0;
    if (!(x > at[0]))
        return heights[0];
    while (place < POINTS && at[place] < x)
        place++;
    if (place == POINTS)
        return heights[POINTS - 1];
    return heights[place - 1] +
           (heights[place] - heights[place - 1]) * ((x - at[place - 1]) / (at[place] - at[place - 1]));
}

distill_status distill_probability(const distill_encoder *encoder, const distill_index *index, const distill_hit *hits,
                                   size_t count, float *probability, float *threshold)
{
    const float *numbers = encoder->answerable ? encoder->answerable + (size_t)index->score * CALIBRATED : NULL;
    const float passages = index->count > FEW_PASSAGES ? (float)index->count : FEW_PASSAGES;
    float others = 0;
    if (!numbers || (numbers[BEST] == 0 && numbers[MARGIN] == 0))
        return DISTILL_NOT_CALIBRATED;
    for (size_t i = 1; i < DISTILL_COMPARED; i++)
        others += (i < count ? hits[i].score : numbers[USUAL]) / (DISTILL_COMPARED - 1);
    if (threshold)
        *threshold = numbers[THRESHOLD];
    if (probability)
        *probability = count ? height(numbers + LINE, numbers + LINE + POINTS,
                                      numbers[BEST] * hits[0].score + numbers[MARGIN] * (hits[0].score - others) +
                                          numbers[FEW] * (FEW_PASSAGES / passages))
                             : 0;
    return DISTILL_OK;
}

/* The best by their quick scores tell how low a score may be; all above are scored again. */
static void search(const distill_index *index, const question *asked, const float *scores, size_t k, distill_hit *hits,
                   size_t *count)
{
    float least = -INFINITY;
    for (size_t passage = 0; passage < index->count; passage++) {
        distill_hit hit = {(uint32_t)passage, DISTILL_NONE, scores[passage]};
        keep(hits, count, k, hit);
    }
    if (*count == k)
        least = hits[0].score - 2 * error_of(index, asked);
    *count = 0;
    for (size_t passage = 0; passage < index->count; passage++)
        if (!(scores[passage] < least))
            keep(hits, count, k, exact_hit(index, asked, passage));
    distill_sort(hits, *count);
}

distill_status distill_search(const distill_index *index, const float *vector, size_t k, distill_hit *hits,
                              size_t *count)
{
    question asked = {vector, malloc(index->dimension), malloc(index->dimension), malloc(SOME * index->dimension), 0, 0};
    float *scores = calloc(2 * index->count + 1, sizeof *scores);
    distill_status status = asked.above && asked.below && asked.codes && scores ? DISTILL_OK : DISTILL_NO_MEMORY;
    *count = 0;
    if (!status && k) {
        round_question(&asked, index->dimension);
        quick_scores(index, &asked, scores);
        search(index, &asked, scores, k, hits, count);
    }
    free(asked.above);
    free(asked.below);
    free(asked.codes);
    free(scores);
    return status;
}

size_t distill_rescored(const distill_index *index) { return index->again; }

/* The product of a question and a text, with `room` for the text's vector. */
static distill_status product_of(const distill_encoder *encoder, const float *vector, distill_span text, float *room,
                                 float *score)
{
    distill_status status = distill_encode(encoder, DISTILL_DOCUMENT, text.bytes, text.size, room);
    if (!status)
        *score = product(vector, room, encoder->dimension);
    return status;
}

/* Score the sentences of a passage by their texts. */
static distill_status rescore_sentences(const distill_index *index, const distill_encoder *encoder, const float *vector,
                                        distill_span text, float *room, distill_hit *hit)
{
    float best = 0;
    hit->sentence = DISTILL_NONE;
    for (uint32_t row = index->starts[hit->passage]; row < index->starts[hit->passage + 1]; row++) {
        float score = 0;
        size_t begin, end;
        distill_status status = distill_sentence(index, row, &begin, &end);
        if (!status && end > text.size)
            status = DISTILL_NOT_AN_INDEX;
        if (!status) {
            distill_span sentence = {text.bytes + begin, end - begin};
            status = product_of(encoder, vector, sentence, room, &score);
        }
        if (status)
            return status;
        if (hit->sentence == DISTILL_NONE || score > best) {
            best = score;
            hit->sentence = row;
        }
    }
    hit->score = index->of_passage * hit->score + index->of_sentence * best;
    return DISTILL_OK;
}

distill_status distill_rescore(const distill_index *index, const distill_encoder *encoder, const float *vector,
                               const char *text, size_t size, distill_hit *hit)
{
    distill_span whole = {text, size};
    distill_status status = DISTILL_OK;
    float *room;
    if (hit->passage >= index->count)
        return DISTILL_NO_PASSAGE;
    if (encoder->dimension != index->dimension)
        return DISTILL_OTHER_ENCODER;
    room = malloc(index->dimension * sizeof *room);
    if (!room)
        return DISTILL_NO_MEMORY;
    hit->score = 0;
    if (index->score != SCORE_SENTENCE)
        status = product_of(encoder, vector, whole, room, &hit->score);
    if (!status && index->score != SCORE_VECTOR)
        status = rescore_sentences(index, encoder, vector, whole, room, hit);
    free(room);
    return status;
}

distill_status distill_block(const distill_index *index, uint32_t passage, distill_span *block, size_t *begin,
                             size_t *size)
{
    size_t number = passage / index->per_block;
    if (passage >= index->count)
        return DISTILL_NO_PASSAGE;
    block->bytes = (const char *)index->text + index->blocks[number];
    block->size = (size_t)(index->blocks[number + 1] - index->blocks[number]);
    *begin = 0;
    for (size_t i = number * index->per_block; i < passage; i++)
        *begin += index->lengths[i];
    *size = index->lengths[passage];
    return DISTILL_OK;
}

distill_status distill_passage(const distill_index *index, uint32_t passage, distill_span *text)
{
    size_t begin, size;
    distill_status status = index->packed ? DISTILL_PACKED : distill_block(index, passage, text, &begin, &size);
    if (status)
        return status;
    if (begin > text->size || size > text->size - begin)
        return DISTILL_NOT_AN_INDEX;
    text->bytes += begin;
    text->size = size;
    return DISTILL_OK;
}

distill_status distill_sentence(const distill_index *index, uint32_t sentence, size_t *begin, size_t *end)
{
    if (sentence >= index->starts[index->count])
        return DISTILL_NO_PASSAGE;
    *begin = index->bounds[2 * (size_t)sentence];
    *end = index->bounds[2 * (size_t)sentence + 1];
    return *begin <= *end ? DISTILL_OK : DISTILL_NOT_AN_INDEX;
}

distill_status distill_document(const distill_index *index, uint32_t passage, distill_span *json)
{
    size_t document;
    if (passage >= index->count)
        return DISTILL_NO_PASSAGE;
    document = index->document_of[passage];
    if (document >= index->document_count)
        return DISTILL_NOT_AN_INDEX;
    json->bytes = (const char *)index->documents + index->document_starts[document];
    json->size = (size_t)(index->document_starts[document + 1] - index->document_starts[document]);
    return DISTILL_OK;
}

/* ---- Memory and files ---- */

void *distill_reserve(size_t size)
{
    char *memory = size < SIZE_MAX - 2 * ALIGNMENT ? malloc(size + 2 * ALIGNMENT) : NULL;
    void **lines = memory ? aligned(memory + sizeof *lines) : NULL;
    if (lines)
        lines[-1] = memory;
    return lines;
}

void distill_free(void *bytes)
{
    if (bytes)
        free(((void **)bytes)[-1]);
}

#ifndef DISTILL_NO_FILES

#include <stdio.h>

static distill_status read_all(FILE *file, void **bytes, size_t *size)
{
    long end;
    /* Some systems open a folder, and then say that it is as large as can be. */
    if (fgetc(file) == EOF && ferror(file))
        return DISTILL_NO_FILE;
    if (fseek(file, 0, SEEK_END) || (end = ftell(file)) < 0 || fseek(file, 0, SEEK_SET))
        return DISTILL_NO_FILE;
    *size = (size_t)end;
    *bytes = distill_reserve(*size);
    if (!*bytes)
        return DISTILL_NO_MEMORY;
    if (fread(*bytes, 1, *size, file) == *size)
        return DISTILL_OK;
    distill_free(*bytes);
    *bytes = NULL;
    return DISTILL_NO_FILE;
}

distill_status distill_read(const char *path, void **bytes, size_t *size)
{
    FILE *file = fopen(path, "rb");
    distill_status status;
    *bytes = NULL;
    if (!file)
        return DISTILL_NO_FILE;
    status = read_all(file, bytes, size);
    fclose(file);
    return status;
}

/* True where all of a new file is written. */
static bool write_all(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    bool whole = file && fwrite(bytes, 1, size, file) == size;
    return file && !fclose(file) && whole;
}

distill_status distill_write(const char *path, const void *bytes, size_t size)
{
    static const char ending[] = ".part";
    size_t length = strlen(path);
    bool written;
    char *aside = malloc(length + sizeof ending);
    if (!aside)
        return DISTILL_NO_MEMORY;
    memcpy(aside, path, length);
    memcpy(aside + length, ending, sizeof ending);
    written = write_all(aside, bytes, size);
#if defined(_WIN32)
    /* There a file is not renamed to one that is there. */
    if (written)
        remove(path);
#endif
    written = written && !rename(aside, path);
    if (!written)
        remove(aside);
    free(aside);
    return written ? DISTILL_OK : DISTILL_NOT_WRITTEN;
}

#endif
