// Squared distances from differences, a few rows and a few centers at a time: nothing cancels, and rows need not be
// centered. On processors with separate addition units this takes little more time than products.
#pragma once

#include "coterie/machine/buffer.hpp"
#include "coterie/machine/lanes.hpp"
#include "coterie/machine/parallel.hpp"

namespace coterie {

// The distance of a row x to center c is precisions[c] * ||(x - centers[c]) * scales[c]||^2 + offsets[c].
template <class T>
struct ScaledCenters {
    const T* centers;     // n_centers x n_columns
    const T* scales;      // the same shape, or nullptr: 1
    const T* precisions;  // n_centers
    const T* offsets;     // n_centers; infinite: never chosen
    Index n_centers;
    Index n_columns;
};

namespace {

// Rows and centers are padded with zeros to whole cache lines; centers need not begin at one. out[r * out_stride + c].
template <class Isa, class T, int R, int C, bool Scaled>
inline __attribute__((always_inline)) void distance_tile(const T* rows, Index width, const T* const* centers,
                                                         const T* const* scales, T* out, Index out_stride) {
    using V = typename Isa::template Vector<T>;
    using Loaded = typename Isa::template UnalignedVector<T>;
    constexpr int L = sizeof(V) / sizeof(T), NV = 64 / sizeof(V), N = R * C, AtOnce = N < L ? N : L;
    V sums[N][NV] = {};
    for (Index j = 0; j < width; j += kLanes<T>) {
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) {
            V x[R];
#pragma GCC unroll 8
            for (int r = 0; r < R; ++r) x[r] = *reinterpret_cast<const V*>(rows + r * width + j + v * L);
#pragma GCC unroll 8
            for (int c = 0; c < C; ++c) {
                const V center = *reinterpret_cast<const Loaded*>(centers[c] + j + v * L);
#pragma GCC unroll 8
                for (int r = 0; r < R; ++r) {
                    V difference = x[r] - center;
                    if constexpr (Scaled) difference *= *reinterpret_cast<const V*>(scales[c] + j + v * L);
                    sums[r * C + c][v] += difference * difference;
                }
            }
        }
    }
    V folded[N];
#pragma GCC unroll 32
    for (int i = 0; i < N; ++i) folded[i] = fold<NV>(sums[i]);
#pragma GCC unroll 32
    for (int first = 0; first < N; first += AtOnce) {
        const V totals = reduce_lanes<L, AtOnce>(folded + first);
#pragma GCC unroll 32
        for (int i = 0; i < AtOnce; ++i) out[(first + i) / C * out_stride + (first + i) % C] = totals[i];
    }
}

// As many sums as the registers hold.
template <class Isa, class T>
inline constexpr int kTileCenters = sizeof(typename Isa::template Vector<T>) == 64 ? 4 : 2;
template <class Isa, class T>
inline constexpr int kTileRows = sizeof(typename Isa::template Vector<T>) == 64   ? 4
                                 : sizeof(typename Isa::template Vector<T>) == 32 ? 2
                                                                                  : 1;

template <class Isa, class T, int R, bool Scaled>
inline void distance_rows(const T* rows, Index n_rows, Index width, const T* const* centers, const T* const* scales,
                          T* out, Index out_stride) {
    for (; n_rows >= R; n_rows -= R, rows += R * width, out += R * out_stride)
        distance_tile<Isa, T, R, kTileCenters<Isa, T>, Scaled>(rows, width, centers, scales, out, out_stride);
    if constexpr (R > 1)
        if (n_rows > 0) distance_rows<Isa, T, R / 2, Scaled>(rows, n_rows, width, centers, scales, out, out_stride);
}

// n_centers is a multiple of kTileCenters.
template <class Isa, class T, bool Scaled>
void square_distances(const T* rows, Index n_rows, Index width, const T* const* centers, const T* const* scales,
                      Index n_centers, T* out, Index out_stride) {
    for (Index c = 0; c < n_centers; c += kTileCenters<Isa, T>)
        distance_rows<Isa, T, kTileRows<Isa, T>, Scaled>(rows, n_rows, width, centers + c, scales + c, out + c,
                                                         out_stride);
}

// Copies a row and fills it up with zeros to whole cache lines. memcpy would be a function call for each row.
template <class Isa, class T>
inline void copy_padded(const T* from, Index n_columns, T* to) {
    using V = typename Isa::template Vector<T>;
    using Loaded = typename Isa::template UnalignedVector<T>;
    constexpr Index L = sizeof(V) / sizeof(T);
    Index j = 0;
    for (; j + L <= n_columns; j += L) *reinterpret_cast<V*>(to + j) = *reinterpret_cast<const Loaded*>(from + j);
    for (; j < n_columns; ++j) to[j] = from[j];
    for (; j % kLanes<T> != 0; ++j) to[j] = 0;
}

template <class Isa, class T>
Buffer<T> padded_rows(const T* rows, Index n_rows, Index n_columns, Index width, int n_threads) {
    Buffer<T> out(rows == nullptr ? 0 : n_rows * width);
    if (rows != nullptr)
        parallel_for(ceil_div(n_rows, 256), n_threads, [&](Index task) {
            for (Index c = task * 256; c < min_index(n_rows, (task + 1) * 256); ++c)
                copy_padded<Isa>(rows + c * n_columns, n_columns, out.data() + c * width);
        });
    return out;
}

}  // namespace
}  // namespace coterie
