// Scores of rows against panels of centroids: the inner loop of everything that compares rows with centroids.
//
// score(x, c) = offset(c) - 2 x . c, which orders centroids as the squared distance does.
//
// Each score is one chain of fused multiply-adds over the dimensions in ascending order, for any position of the row in
// a tile, tile height and vector width. So scores are bit-identical wherever they are computed, and algorithms that
// skip different distances agree exactly.
#pragma once

#include "coterie/centers/panels.hpp"

namespace coterie {
namespace {

// Bytes: the part of each panel line that is computed, from its beginning (64 or 32); other scores are not written.
template <class Isa, class T, int Height, int Bytes>
inline __attribute__((always_inline)) void dense_tile(const T* const* rows, Index d, const T* panel,
                                                      const T* offsets, T* out) {
    using V = typename Isa::template VectorUpTo<T, Bytes>;
    constexpr int L = sizeof(V) / sizeof(T), NV = Bytes / sizeof(V), Unroll = 4;
    V sums[Height][NV] = {};
    Index j = 0;
    for (; j + Unroll <= d; j += Unroll) {
        V b[Unroll][NV];
#pragma GCC unroll 4
        for (int u = 0; u < Unroll; ++u)
#pragma GCC unroll 4
            for (int v = 0; v < NV; ++v)
                b[u][v] = *reinterpret_cast<const V*>(panel + (j + u) * kLanes<T> + v * L);
#pragma GCC unroll 32
        for (int r = 0; r < Height; ++r) {
            const T* x = rows[r] + j;
#pragma GCC unroll 4
            for (int u = 0; u < Unroll; ++u)
#pragma GCC unroll 4
                for (int v = 0; v < NV; ++v) sums[r][v] += x[u] * b[u][v];
        }
    }
    for (; j < d; ++j) {
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) {
            const V b = *reinterpret_cast<const V*>(panel + j * kLanes<T> + v * L);
#pragma GCC unroll 32
            for (int r = 0; r < Height; ++r) sums[r][v] += rows[r][j] * b;
        }
    }
#pragma GCC unroll 32
    for (int r = 0; r < Height; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v)
            *reinterpret_cast<V*>(out + r * kLanes<T> + v * L) =
                sums[r][v] + *reinterpret_cast<const V*>(offsets + v * L);
}

template <class Isa, class T, int Height, int Bytes>
void dense_tiles(const T* const* rows, Index n_rows, Index d, const T* panel, const T* offsets, T* out) {
    for (; n_rows >= Height; n_rows -= Height, rows += Height, out += Height * kLanes<T>)
        dense_tile<Isa, T, Height, Bytes>(rows, d, panel, offsets, out);
    if constexpr (Height > 1) {
        if (n_rows > 0) dense_tiles<Isa, T, Height / 2, Bytes>(rows, n_rows, d, panel, offsets, out);
    }
}

// Rows that are compared with a slab of panels at a time: whole tiles of them, and whole squares of scores.
template <class T>
inline constexpr Index kBatchRows = 3 * kLanes<T>;

// Scores of n <= kBatchRows rows with panels begin .. end - 1: those of panel p are at out + (p - begin) * apart.
template <class Isa, class T>
void score_slab(const DenseRows<T>& x, const Index* which, Index n, const Panels<T>& panels, Index begin, Index end,
                Index apart, T* out) {
    constexpr int H = Isa::kTileHeight;
    static_assert(kBatchRows<T> % H == 0);
    const Index d = x.n_columns;
    const T* rows[kBatchRows<T>];
    for (Index i = 0; i < n; ++i) rows[i] = x.row(which[i]);
    for (Index p = begin; p < end; ++p, out += apart) {
        const T *const panel = panels.panel(p), *const offsets = panels.panel_offsets(p);
        if (Isa::kRegisterBytes < kLineBytes && panels.is_half_empty(p)) {
            dense_tiles<Isa, T, H, 32>(rows, n, d, panel, offsets, out);
            for (Index i = 0; i < n; ++i)
                for (Index l = kLanes<T> / 2; l < kLanes<T>; ++l) out[i * kLanes<T> + l] = infinity<T>();
        } else {
            dense_tiles<Isa, T, H, 64>(rows, n, d, panel, offsets, out);
        }
    }
}

// The same for Beside panels from p on, which are stored side by side.
template <class Isa, int Beside, class T>
void score_beside(const CsrRows<T>& x, const Index* which, Index n, const Panels<T>& panels, Index p, Index apart,
                  T* out) {
    using V = typename Isa::template Vector<T>;
    constexpr int L = sizeof(V) / sizeof(T), PerPanel = 64 / sizeof(V), NV = Beside * PerPanel;
    const T* panel = panels.panel(p);
    const T* offsets = panels.panel_offsets(p);
    const Index stride = panels.stride();
    for (Index i = 0; i < n; ++i, out += kLanes<T>) {
        V sums[NV] = {};
        for (Index e = x.begin(which[i]), end = x.end(which[i]); e < end; ++e) {
            const T* b = panel + static_cast<Index>(x.columns[e]) * stride;
            const T value = x.values[e];
#pragma GCC unroll 16
            for (int v = 0; v < NV; ++v) sums[v] += value * *reinterpret_cast<const V*>(b + v * L);
        }
#pragma GCC unroll 16
        for (int v = 0; v < NV; ++v)
            *reinterpret_cast<V*>(out + v / PerPanel * apart + v % PerPanel * L) =
                sums[v] + *reinterpret_cast<const V*>(offsets + v * L);
    }
}

// The same for sparse rows; begin is a multiple of panels.n_beside.
template <class Isa, class T>
void score_slab(const CsrRows<T>& x, const Index* which, Index n, const Panels<T>& panels, Index begin, Index end,
                Index apart, T* out) {
    for (Index p = begin; p < end; p += panels.n_beside, out += panels.n_beside * apart)
        switch (min_index(panels.n_beside, end - p)) {
            case 4: score_beside<Isa, 4>(x, which, n, panels, p, apart, out); break;
            case 3: score_beside<Isa, 3>(x, which, n, panels, p, apart, out); break;
            case 2: score_beside<Isa, 2>(x, which, n, panels, p, apart, out); break;
            default: score_beside<Isa, 1>(x, which, n, panels, p, apart, out);
        }
}

// Scores of n <= Isa::kTileHeight rows with panels begin .. end - 1, given to use(p, scores) one after the other; begin
// is a multiple of panels.n_beside.
template <class Isa, class Rows, class T, class Use>
void score_panels(const Rows& x, const Index* which, Index n, const Panels<T>& panels, Index begin, Index end, Use use) {
    alignas(64) T tiles[kMostBeside<Rows>][Isa::kTileHeight * kLanes<T>];
    for (Index p = begin; p < end; p += panels.n_beside) {
        const Index beside = min_index(panels.n_beside, end - p);
        score_slab<Isa>(x, which, n, panels, p, p + beside, Isa::kTileHeight * kLanes<T>, tiles[0]);
        for (Index b = 0; b < beside; ++b) use(p + b, tiles[b]);
    }
}

// The same for rows begin .. end - 1 and all panels, a slab that stays in the cache at a time: given to
// use(first, n, p, scores) for n <= Isa::kTileHeight rows from `first` on.
template <class Isa, class Rows, class T, class Use>
void score_rows(const Rows& x, Index begin, Index end, const Panels<T>& panels, Use use) {
    constexpr Index H = Isa::kTileHeight, kSlabBytes = 512 * 1024;
    const Index beside_bytes = panels.stride() * static_cast<Index>(sizeof(T)) * x.n_columns;
    const Index slab = max_index(1, kSlabBytes / max_index(1, beside_bytes)) * panels.n_beside;
    Index which[H];
    for (Index p = 0; p < panels.n_panels; p += slab)
        for (Index first = begin; first < end; first += H) {
            const Index n = min_index(H, end - first);
            for (Index r = 0; r < n; ++r) which[r] = first + r;
            score_panels<Isa>(x, which, n, panels, p, min_index(panels.n_panels, p + slab),
                              [&](Index q, const T* tile) { use(first, n, q, tile); });
        }
}

// One dot product, summed by lanes of a vector: its rounding differs from that of a panel's score.
template <class Isa, class T>
T dot(const DenseRows<T>& x, Index i, const T* c) {
    using V = typename Isa::template UnalignedVector<T>;
    constexpr Index L = sizeof(V) / sizeof(T), Chains = 4;
    const T* a = x.row(i);
    const Index d = x.n_columns;
    V sums[Chains] = {};
    Index j = 0;
    for (; j + Chains * L <= d; j += Chains * L)
        for (Index u = 0; u < Chains; ++u)
            sums[u] += *reinterpret_cast<const V*>(a + j + u * L) * *reinterpret_cast<const V*>(c + j + u * L);
    for (; j + L <= d; j += L) sums[0] += *reinterpret_cast<const V*>(a + j) * *reinterpret_cast<const V*>(c + j);
    const V total = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    T out = 0;
    for (Index l = 0; l < L; ++l) out += total[l];
    for (; j < d; ++j) out += a[j] * c[j];
    return out;
}

template <class Isa, class T>
T dot(const CsrRows<T>& x, Index i, const T* c) {
    T out = 0;
    for (Index e = x.begin(i), end = x.end(i); e < end; ++e) out += x.values[e] * c[x.columns[e]];
    return out;
}

// Products of rows with a few directions, of each row the same bits whatever others there are: BLAS sums in another order
// for another number of rows. IN x, directions (as centers whose offsets are 0); OUT out (n_rows x n_directions).
template <class Isa, class T>
void products(const DenseRows<T>& x, const Centers<T>& directions, T* out, int n_threads) {
    constexpr Index W = kLanes<T>, kChunk = 96;
    const Panels<T> panels = pack<DenseRows<T>>(directions, nullptr, directions.n_centers, n_threads);
    const Index m = directions.n_centers;
    parallel_for(ceil_div(x.n_rows, kChunk), n_threads, [&](Index task) {
        const Index end = min_index(x.n_rows, (task + 1) * kChunk);
        score_rows<Isa>(x, task * kChunk, end, panels, [&](Index first, Index n, Index p, const T* tile) {
            for (Index r = 0; r < n; ++r)
                for (Index l = 0; l < min_index(W, m - p * W); ++l)
                    out[(first + r) * m + p * W + l] = T(-0.5) * tile[r * W + l];
        });
    });
}

}  // namespace
}  // namespace coterie
