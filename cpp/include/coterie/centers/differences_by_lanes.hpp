// Squared distances of a few rows to centers, one lane to a row: no lanes are left to be added up in the end, which
// takes as long as the distance itself where there are few columns.
#pragma once

#include "coterie/centers/differences.hpp"

namespace coterie {
namespace {

// Below so many rows most lanes would be idle, and `square_distances` is faster.
inline constexpr Index kFewestLanes = 4;

// Columns that are summed up in one chain; what is added to a sum must not vanish beside it.
inline constexpr Index kChain = 256;

// Sums that registers hold beside what is loaded.
inline constexpr int kSumsAtOnce = 8;

// Adds the sums over one chain of columns to `out`, whose line c is of centers[c]. Not inlined: its pointers need the
// registers.
template <class Isa, class T, int Vectors, bool Scaled>
__attribute__((noinline)) void add_chain(const T* lanes, Index begin, Index end, const T* const* centers,
                                         const T* const* scales, T* out) {
    using V = typename Isa::template Vector<T>;
    constexpr int L = sizeof(V) / sizeof(T), C = kSumsAtOnce / Vectors;
    const T *center[C], *scale[C];
    V sums[C][Vectors];
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c) {
        center[c] = centers[c];
        scale[c] = scales[c];
#pragma GCC unroll 4
        for (int v = 0; v < Vectors; ++v) sums[c][v] = V{};
    }
    for (Index j = begin; j < end; ++j, lanes += kLanes<T>) {
        V x[Vectors];
#pragma GCC unroll 4
        for (int v = 0; v < Vectors; ++v) x[v] = *reinterpret_cast<const V*>(lanes + v * L);
#pragma GCC unroll 8
        for (int c = 0; c < C; ++c) {
            const T at = center[c][j];
#pragma GCC unroll 4
            for (int v = 0; v < Vectors; ++v) {
                V difference = x[v] - at;
                if constexpr (Scaled) difference *= scale[c][j];
                sums[c][v] += difference * difference;
            }
        }
    }
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c)
#pragma GCC unroll 4
        for (int v = 0; v < Vectors; ++v) {
            V* const total = reinterpret_cast<V*>(out + c * kLanes<T> + v * L);
            *total += sums[c][v];
        }
}

// Rows become lanes: line j of `lanes` has column j of n rows, at most kLanes; the other lanes are 0.
template <class Isa, class T>
inline void rows_to_lanes(const T* rows, Index n, Index width, T* lanes) {
    using V = typename Isa::template Vector<T>;
    using Tile = Square<Isa, T>;
    for (Index j = 0; j < width; j += kLanes<T>) {
        Tile tile{};
        for (Index r = 0; r < n; ++r)
            for (int v = 0; v < Tile::kVectors; ++v)
                tile.lines[r][v] = *reinterpret_cast<const V*>(rows + r * width + j + v * Tile::kWidth);
        tile.transpose();
        for (int i = 0; i < Tile::kSize; ++i)
            for (int v = 0; v < Tile::kVectors; ++v)
                *reinterpret_cast<V*>(lanes + (j + i) * kLanes<T> + v * Tile::kWidth) = tile.lines[i][v];
    }
}

template <class Isa, class T, int Vectors, bool Scaled>
void square_distances_of_lanes(const T* lanes, Index n, Index n_columns, const T* const* centers,
                               const T* const* scales, Index n_centers, T* out, Index out_stride) {
    using V = typename Isa::template Vector<T>;
    using Tile = Square<Isa, T>;
    // `lanes` has a line of kLanes rows for each column.
    for (Index first = 0; first < n_centers; first += kLanes<T>) {
        Tile tile{};
        T* const lines = reinterpret_cast<T*>(&tile.lines);
        for (Index c = first; c < min_index(n_centers, first + kLanes<T>); c += kSumsAtOnce / Vectors)
            for (Index j = 0; j < n_columns; j += kChain)
                add_chain<Isa, T, Vectors, Scaled>(lanes + j * kLanes<T>, j, min_index(n_columns, j + kChain),
                                                   centers + c, scales + c, lines + (c - first) * kLanes<T>);
        tile.transpose();
        for (Index r = 0; r < n; ++r)
            for (int v = 0; v < Tile::kVectors; ++v)
                *reinterpret_cast<V*>(out + r * out_stride + first + v * Tile::kWidth) = tile.lines[r][v];
    }
}

// Of n rows, as few vectors as hold them.
template <class Isa, class T, int Vectors, bool Scaled>
void square_distances_of_few(const T* lanes, Index n, Index n_columns, const T* const* centers, const T* const* scales,
                             Index n_centers, T* out, Index out_stride) {
    constexpr int L = sizeof(typename Isa::template Vector<T>) / sizeof(T);
    if constexpr (Vectors > 1)
        if (n <= Vectors / 2 * L)
            return square_distances_of_few<Isa, T, Vectors / 2, Scaled>(lanes, n, n_columns, centers, scales, n_centers,
                                                                        out, out_stride);
    square_distances_of_lanes<Isa, T, Vectors, Scaled>(lanes, n, n_columns, centers, scales, n_centers, out,
                                                       out_stride);
}

// As `square_distances`, for any number of centers; pointers to them and out_stride fill whole cache lines.
// A distance is one chain of fused multiply-adds for each 256 columns, whatever the width of a register.
// `lanes` is scratch: `width` lines.
template <class Isa, class T, bool Scaled>
void square_distances_by_lanes(const T* rows, Index n_rows, Index width, Index n_columns, const T* const* centers,
                               const T* const* scales, Index n_centers, T* out, Index out_stride, T* lanes) {
    constexpr int kMostVectors = 64 / sizeof(typename Isa::template Vector<T>);
    for (Index first = 0; first < n_rows; first += kLanes<T>) {
        const Index n = min_index(kLanes<T>, n_rows - first);
        rows_to_lanes<Isa>(rows + first * width, n, width, lanes);
        square_distances_of_few<Isa, T, kMostVectors, Scaled>(lanes, n, n_columns, centers, scales, n_centers,
                                                              out + first * out_stride, out_stride);
    }
}

}  // namespace
}  // namespace coterie
