// Rows and centers in 8 bits, and rigorous bounds of what that loses.
//
// A vector y, relative to a shift, is s q + e with s = max|y_j| / levels and q rounded to integers; the lengths of s q and
// of e are computed and rounded up. For a row x and a center c
//   x . c = s_x s_c q_x . q_c + (s_x q_x) . e_c + e_x . c,
// so that |c|^2 - 2 s_x s_c q_x . q_c is the squared distance less |x|^2, but for 2 (|s_x q_x| |e_c| + |e_x| |c|) and for
// rounding, which the lengths of errors include. Products of bytes are exact.
#pragma once

#include "coterie/machine/buffer.hpp"
#include "coterie/machine/isa.hpp"
#include "coterie/machine/lanes.hpp"
#include "coterie/machine/parallel.hpp"
#include "coterie/machine/views.hpp"

namespace coterie {
namespace {

// Products of bytes of an instruction set: none by default. From which numbers of columns, of centers and of float32 numbers
// of all centers on they are faster than those of floats, and from which number of columns on bounds are faster than all
// products of bytes.
template <class Isa>
struct BytesOf {
    static constexpr bool kExists = false;
    static constexpr Index kLeastColumns = 0, kLeastCenters = 0, kLeastProducts = 0, kBoundColumns = 0;
};

// Sums of wider rows overflow 32 bits.
inline constexpr Index kMostByteColumns = 65536;

// A relative error above that of the few float32 operations on scales, lengths and scores.
inline constexpr float kByteRounding = 8 * __FLT_EPSILON__;

struct QuantizedVector {
    float scale;       // s; infinite: too large beside the unit
    float length;      // of s q, rounded up
    float error;       // length of y - s q, rounded up, with the rounding of y
    float square;      // |y|^2
    float slack;       // what that and the scores are off, at most
    std::int32_t sum;  // of q
};

// Columns are filled up with zeros to a multiple of 16.
inline Index byte_width(Index n_columns) { return ceil_div(n_columns, 16) * 16; }

// What float64 sums of squared differences are off, as a part of the squared lengths, and more.
inline float exact_rounding(Index n_columns) { return static_cast<float>(n_columns + 8) * 0x1p-50f; }

// IN v, shift (n_columns), unit (a power of 2 that multiplies v - shift); OUT relative, q (byte_width).
template <class Isa, class T>
QuantizedVector quantize(const T* v, const T* shift, Index n_columns, T unit, float* relative, std::int8_t* q) {
    using V = typename Isa::template Vector<float>;
    using Ints = typename VectorOf<std::int32_t, sizeof(V)>::Aligned;
    using Bytes = typename VectorOf<std::int8_t, sizeof(V) / 4>::Unaligned;
    constexpr Index L = sizeof(V) / sizeof(float);
    constexpr float kLargest = 1e15f, kSmallest = 1e-30f, kRounds = 12582912.0f;  // 1.5 * 2^23
    const Index width = byte_width(n_columns);
    for (Index j = 0; j < n_columns; ++j) relative[j] = static_cast<float>((v[j] - shift[j]) * unit);
    for (Index j = n_columns; j < width; ++j) relative[j] = 0;
    V highest = V{};
    for (Index j = 0; j < width; j += L) {
        const V y = *reinterpret_cast<const V*>(relative + j);
        highest = Isa::greatest(highest, Isa::greatest(y, -y));
    }
    float most = 0;
    for (Index l = 0; l < L; ++l) most = highest[l] > most ? highest[l] : most;
    if (!(most < kLargest)) {
        for (Index j = 0; j < width; ++j) q[j] = 0;
        return {infinity<float>(), 0, 0, 0, 0, 0};
    }
    const bool vanishes = most < kSmallest;
    const float scale = vanishes ? 0 : most / BytesOf<Isa>::kLevels, inverse = vanishes ? 0 : BytesOf<Isa>::kLevels / most;
    V squares = V{}, own_squares = V{}, errors = V{}, sums = V{};
    for (Index j = 0; j < width; j += L) {
        const V y = *reinterpret_cast<const V*>(relative + j);
        const V level = (y * inverse + kRounds) - kRounds, error = y - level * scale;
        squares += level * level;
        own_squares += y * y;
        errors += error * error;
        sums += level;
        *reinterpret_cast<Bytes*>(q + j) = __builtin_convertvector(__builtin_convertvector(level, Ints), Bytes);
    }
    const float square = reduce_lanes<L, 1>(&squares)[0], error_square = reduce_lanes<L, 1>(&errors)[0];
    const float up = 1 + static_cast<float>(n_columns + 32) * __FLT_EPSILON__;
    const float length = scale * square_root(square) * up, error_length = square_root(error_square) * up;
    const float error = error_length + kByteRounding * (length + error_length), most_length = length + error;
    const float rounding = 4 * kByteRounding + up - 1 + exact_rounding(n_columns);
    return {scale, length, error, reduce_lanes<L, 1>(&own_squares)[0], rounding * most_length * most_length + 0x1p-100f,
            static_cast<std::int32_t>(reduce_lanes<L, 1>(&sums)[0])};
}

// Rows in 8 bits.
struct QuantizedRows {
    Buffer<std::int8_t> values;  // byte_width for each row
    Buffer<QuantizedVector> vectors;
};

// shift: see `quantize`; nullptr for none.
template <class Isa, class T>
QuantizedRows quantize_rows(const DenseRows<T>& x, const typename DenseRows<T>::value_type* shift, T unit, int n_threads) {
    constexpr Index kChunk = 48;
    const Index d = x.n_columns, width = byte_width(d), n = x.n_rows;
    QuantizedRows out{Buffer<std::int8_t>(n * width), Buffer<QuantizedVector>(n)};
    Buffer<T> zeros(d);
    zeros.fill(0);
    parallel_for(
        ceil_div(n, kChunk), n_threads, [&] { return Buffer<float>(width); },
        [&](Index task, Buffer<float>& relative) {
            for (Index i = task * kChunk; i < min_index(n, (task + 1) * kChunk); ++i)
                out.vectors[i] = quantize<Isa>(x.row(i), shift == nullptr ? zeros.data() : shift, d, unit, relative.data(),
                                               out.values.data() + i * width);
        });
    return out;
}

// Centers in panels of C vectors of lanes: each four columns of a panel are four bytes of each of its centers.
template <class Isa, int C>
struct BytePanels {
    static constexpr Index kSlots = C * Isa::kRegisterBytes / 4;
    Index n_panels, n_columns;
    Buffer<std::int8_t> values;           // n_panels x byte_width x kSlots
    // n_panels x kSlots: s, |c|^2, infinite where there is no center, and the |c|, |e| and slack of each center.
    Buffer<float> scales, squares, own_lengths, own_errors, own_slack;
    Buffer<float> lengths, errors, slack; // n_panels: the largest of these
    Buffer<std::int32_t> ids;             // n_panels x kSlots; -1 where there is no center

    const std::int8_t* panel(Index p) const { return values.data() + p * byte_width(n_columns) * kSlots; }
    // How far the scores of a row with this panel are off, at most.
    float error_of(const QuantizedVector& row, Index p) const {
        return 2 * (row.length * errors[p] + row.error * lengths[p]) + (slack[p] + row.slack);
    }
};

// The power of 2 that brings the largest coordinate of the centers close to 1; 0 if that overflows.
template <class T>
T unit_of(const T* centers, const T* shift, Index n_centers, Index n_columns) {
    constexpr Index W = kLanes<T>;
    T highest[W] = {};
    for (Index c = 0; c < n_centers; ++c) {
        const T* const center = centers + c * n_columns;
        const auto raise = [&](Index l, Index j) {
            const T y = center[j] - shift[j], length = y < 0 ? -y : y;
            highest[l] = highest[l] < length ? length : highest[l];
        };
        Index j = 0;
        for (; j + W <= n_columns; j += W)
            for (Index l = 0; l < W; ++l) raise(l, j + l);
        for (; j < n_columns; ++j) raise(0, j);
    }
    T most = 0, unit = 1;
    for (Index l = 0; l < W; ++l) most = highest[l] > most ? highest[l] : most;
    constexpr T kHighest = T(1) / smallest_normal<T>() / 4;
    if (!(most < infinity<T>())) return 0;
    while (most * unit > 1) unit /= 2;
    while (most > 0 && most * unit < T(0.5) && unit < kHighest) unit *= 2;
    return unit;
}

// Fills a slot with a center, with none where id < 0. OUT q (byte_width).
template <class Isa, int C>
void fill_slot(Index slot, const QuantizedRows& centers, std::int8_t* q, BytePanels<Isa, C>& out) {
    const Index width = byte_width(out.n_columns), id = out.ids[slot];
    const QuantizedVector c = id < 0 ? QuantizedVector{0, 0, 0, infinity<float>(), -infinity<float>(), 0} : centers.vectors[id];
    out.scales[slot] = c.scale;
    out.squares[slot] = c.square;
    out.own_lengths[slot] = (c.length + c.error) * (1 + kByteRounding);
    out.own_errors[slot] = (c.error + kByteRounding * c.length) * (1 + kByteRounding);
    out.own_slack[slot] = c.slack;
    const std::int8_t* const from = centers.values.data() + max_index(id, 0) * width;  // any, where there is none
    for (Index j = 0; j < width; ++j) q[j] = static_cast<std::int8_t>(from[j] + BytesOf<Isa>::kOffset);
}

inline float greater(float a, float b) { return a > b ? a : b; }

// From one center in bytes to the next, before they are put into panels: whole cache lines.
inline Index byte_stride(Index n_columns) { return ceil_div(n_columns, kLineBytes) * kLineBytes; }

// Puts bytes into vector c of a panel. IN q: the bytes of a vector of centers.
template <class Isa, int C>
void fill_panel(const std::int8_t* q, Index p, int c, BytePanels<Isa, C>& out) {
    using Block = LaneBlock<Isa, std::int32_t>;
    constexpr Index L = Block::kSize;
    const Index n_words = byte_width(out.n_columns) / 4, stride = byte_stride(out.n_columns);
    auto* const panel = reinterpret_cast<typename Block::V*>(out.values.data() + p * n_words * 4 * C * L);
    for (Index w = 0; w < n_words; w += L) {
        Block block;
#pragma GCC unroll 16
        for (Index l = 0; l < L; ++l)
            block.lines[l] = *reinterpret_cast<const typename Block::V*>(q + l * stride + w * 4);
        block.transpose();
        for (Index l = 0; l < min_index(L, n_words - w); ++l) panel[(w + l) * C + c] = block.lines[l];
    }
}

// order: the center of each slot (n_slots, -1 for none), or nullptr for the natural order.
template <class Isa, int C>
BytePanels<Isa, C> pack_bytes(const QuantizedRows& centers, const std::int32_t* order, Index n_slots, Index n_columns,
                              int n_threads) {
    constexpr Index kSlots = BytePanels<Isa, C>::kSlots, L = kSlots / C;
    const Index n_panels = ceil_div(n_slots, kSlots), n = n_panels * kSlots, stride = byte_stride(n_columns);
    BytePanels<Isa, C> out{n_panels, n_columns, Buffer<std::int8_t>(n * byte_width(n_columns)),
                           Buffer<float>(n), Buffer<float>(n), Buffer<float>(n), Buffer<float>(n), Buffer<float>(n),
                           Buffer<float>(n_panels), Buffer<float>(n_panels), Buffer<float>(n_panels),
                           Buffer<std::int32_t>(n)};
    for (Index slot = 0; slot < n; ++slot)
        out.ids[slot] = static_cast<std::int32_t>(slot >= n_slots ? -1 : order == nullptr ? slot : order[slot]);
    const auto make_scratch = [&] {
        Buffer<std::int8_t> scratch(L * stride);
        scratch.fill(0);
        return scratch;
    };
    parallel_for(n_panels, n_threads, make_scratch, [&](Index p, Buffer<std::int8_t>& scratch) {
        std::int8_t* const q = scratch.data();
        for (int c = 0; c < C; ++c) {
            for (Index l = 0; l < L; ++l) fill_slot(p * kSlots + c * L + l, centers, q + l * stride, out);
            fill_panel(q, p, c, out);
        }
        out.lengths[p] = out.errors[p] = out.slack[p] = 0;
        for (Index slot = p * kSlots; slot < (p + 1) * kSlots; ++slot) {
            out.lengths[p] = greater(out.lengths[p], out.own_lengths[slot]);
            out.errors[p] = greater(out.errors[p], out.own_errors[slot]);
            out.slack[p] = greater(out.slack[p], out.own_slack[slot]);
        }
    });
    return out;
}

// Consecutive rows in 8 bits. The scores of row i with panel p go to line l = i * n_panels + p - first_panel of `scores`
// (kSlots each), the least by lanes to that of `least`, how far they are off to errors[l]. Line i of `bounds` keeps the least
// by lanes of all scores plus their errors.
struct ByteRows {
    const std::int8_t* values;  // byte_width for each row
    const QuantizedVector* rows;
    Index first_panel, n_panels;
    float *scores, *least, *errors, *bounds;

    Index number(Index i) const { return i; }
    template <class Isa, int C, class V>
    inline __attribute__((always_inline)) void take(Index i, Index p, const BytePanels<Isa, C>& panels,
                                                    const V* products) const {
        constexpr Index L = sizeof(V) / 4;
        const Index line = i * n_panels + p - first_panel;
        const V scale = V{} - 2 * rows[i].scale;
        const float error = panels.error_of(rows[i], p);
        V lowest = V{} + infinity<float>();
#pragma GCC unroll 4
        for (int c = 0; c < C; ++c) {
            const V score = products[c] * scale + reinterpret_cast<const V*>(panels.squares.data() + p * C * L)[c];
            reinterpret_cast<V*>(scores + line * C * L)[c] = score;
            lowest = Isa::least(score, lowest);
        }
        *reinterpret_cast<V*>(least + line * L) = lowest;
        errors[line] = error;
        V* const bound = reinterpret_cast<V*>(bounds + i * L);
        *bound = Isa::least(lowest + error, *bound);
    }
};

// Some of the rows in 8 bits: line i of `scores` and errors[i] are of row numbers[i].
struct ListedByteRows {
    const std::int8_t* values;
    const QuantizedVector* rows;
    const std::int32_t* numbers;
    float scale;  // of the scores
    float *scores, *errors;

    Index number(Index i) const { return numbers[i]; }
    template <class Isa, int C, class V>
    inline __attribute__((always_inline)) void take(Index i, Index p, const BytePanels<Isa, C>& panels,
                                                    const V* products) const {
        constexpr Index L = sizeof(V) / 4;
        const QuantizedVector& row = rows[numbers[i]];
        const V row_scale = V{} - 2 * row.scale;
#pragma GCC unroll 4
        for (int c = 0; c < C; ++c) {
            const V score = products[c] * row_scale + reinterpret_cast<const V*>(panels.squares.data() + p * C * L)[c];
            reinterpret_cast<V*>(scores + i * C * L)[c] = score * scale;
        }
        errors[i] = panels.error_of(row, p);
    }
};

// Products s_c q_x . q_c of R rows from `first` on with one panel, given to x.take.
template <class Isa, int R, int C, class X>
inline __attribute__((always_inline)) void byte_tile(const X& x, Index first, const BytePanels<Isa, C>& panels,
                                                     Index p) {
    using B = BytesOf<Isa>;
    using V = typename B::Ints;
    using Floats = typename Isa::template Vector<float>;
    typedef std::int32_t Word __attribute__((may_alias));
    constexpr Index L = sizeof(V) / 4, kSlots = BytePanels<Isa, C>::kSlots;
    // As many columns at a time as an instruction set multiplies before it adds in 32 bits.
    constexpr int kWords = B::kWords;
    const Index width = byte_width(panels.n_columns);
    const std::int8_t* const panel = panels.panel(p);
    const std::int8_t* rows[R];
    V sums[R][C];
#pragma GCC unroll 32
    for (int r = 0; r < R; ++r) {
        rows[r] = x.values + x.number(first + r) * width;
#pragma GCC unroll 4
        for (int c = 0; c < C; ++c) sums[r][c] = V{} - B::kOffset * x.rows[x.number(first + r)].sum;
    }
    for (Index j = 0; j < width; j += 16) {
#pragma GCC unroll 4
        for (int next = 0; next < 4; next += kWords) {
            V columns[C][kWords];
#pragma GCC unroll 2
            for (int w = 0; w < kWords; ++w)
#pragma GCC unroll 4
                for (int c = 0; c < C; ++c)
                    columns[c][w] = reinterpret_cast<const V*>(panel + (j + (next + w) * 4) * C * L)[c];
#pragma GCC unroll 32
            for (int r = 0; r < R; ++r) {
                V words[kWords];
#pragma GCC unroll 2
                for (int w = 0; w < kWords; ++w) words[w] = V{} + reinterpret_cast<const Word*>(rows[r] + j)[next + w];
#pragma GCC unroll 4
                for (int c = 0; c < C; ++c) sums[r][c] = B::add_products(sums[r][c], columns[c], words);
            }
        }
    }
    const float* const scales = panels.scales.data() + p * kSlots;
#pragma GCC unroll 32
    for (int r = 0; r < R; ++r) {
        Floats products[C];
#pragma GCC unroll 4
        for (int c = 0; c < C; ++c)
            products[c] = __builtin_convertvector(sums[r][c], Floats) * *reinterpret_cast<const Floats*>(scales + c * L);
        x.take(first + r, p, panels, products);
    }
}

template <class Isa, int R, int C, class X>
void byte_tiles(const X& x, Index first, Index end, const BytePanels<Isa, C>& panels, Index p) {
    for (; first + R <= end; first += R) byte_tile<Isa, R, C>(x, first, panels, p);
    if constexpr (R > 1)
        if (first < end) byte_tiles<Isa, R / 2, C>(x, first, end, panels, p);
}

}  // namespace
}  // namespace coterie
