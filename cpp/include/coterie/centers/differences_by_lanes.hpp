// Squared distances of a few rows to centers, one lane to a row. No sum over lanes is needed, which with few columns
// takes as long as the distance itself.
#pragma once

#include "coterie/centers/differences.hpp"
#include "coterie/machine/views.hpp"

namespace coterie {
namespace {

// With fewer rows most lanes would be idle, and `square_distances` is faster.
inline constexpr Index kFewestLanes = 4;

// Columns that are summed in one chain, limited so that terms are not lost against the sum.
inline constexpr Index kChain = 256;

// Padding of lists of centers.
inline constexpr Index kSpareCenters = 8;

// Centers at a time, so that their sums fill the registers that loads leave; at most eight pointers fit into registers.
template <int Vectors>
inline constexpr int kLaneCenters = Vectors == 1 ? 8 : Vectors == 2 ? 6 : 2;

// Writes the sums over the first chain of columns to `out`, whose line c is of centers[c]; adds those of others. Not
// inlined: its pointers need the registers.
template <class Isa, class T, int Vectors, bool Scaled>
__attribute__((noinline)) void add_chain(const T* lanes, Index begin, Index end, const T* const* centers,
                                         const T* const* scales, T* out) {
    using V = typename Isa::template Vector<T>;
    constexpr int L = sizeof(V) / sizeof(T), C = kLaneCenters<Vectors>;
    const T *center[C], *scale[C];
    V sums[C][Vectors] = {};
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c) {
        center[c] = centers[c];
        scale[c] = scales[c];
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
            *total = begin == 0 ? sums[c][v] : *total + sums[c][v];
        }
}

// Rows become lanes: line j of `lanes` has column j of n rows, at most kLanes; the other lanes are 0.
template <class Isa, class T>
void rows_to_lanes(const DenseRows<T>& x, const Index* rows, Index n, T* lanes) {
    using Block = LaneBlock<Isa, T>;
    using Loaded = typename Isa::template UnalignedVector<T>;
    constexpr int L = Block::kSize;
    const Index d = x.n_columns;
    alignas(64) T padded[kLanes<T>];
    for (Index first = 0; first < kLanes<T>; first += L)
        for (Index next = 0; next < d; next += L) {
            // The last full register of columns overlaps the previous one.
            const Index j = d < L ? 0 : min_index(next, d - L);
            Block block;
#pragma GCC unroll 16
            for (int r = 0; r < L; ++r) {
                if (first + r >= n) {
                    block.lines[r] = typename Block::V{};
                    continue;
                }
                const T* from = x.row(rows[first + r]) + j;
                if (d < L) {
                    copy_padded<Isa>(from, d, padded);
                    from = padded;
                }
                block.lines[r] = *reinterpret_cast<const Loaded*>(from);
            }
            block.transpose();
            for (Index i = 0; i < min_index(L, d); ++i)
                *reinterpret_cast<typename Block::V*>(lanes + (j + i) * kLanes<T> + first) = block.lines[i];
        }
}

// Squared distances of the rows in n lanes to any number of centers; `centers`, `scales` and the lines of `out` are
// filled up by kSpareCenters. Line c of `out` is of centers[c]; lanes without a row are undefined.
// A distance is one chain of fused multiply-adds for each 256 columns, whatever the width of a register.
template <class Isa, class T, bool Scaled, int Vectors = 64 / sizeof(typename Isa::template Vector<T>)>
void square_distances_by_lanes(const T* lanes, Index n, Index n_columns, const T* const* centers,
                               const T* const* scales, Index n_centers, T* out) {
    constexpr int L = sizeof(typename Isa::template Vector<T>) / sizeof(T), C = kLaneCenters<Vectors>;
    if constexpr (Vectors > 1)
        if (n <= Vectors / 2 * L)
            return square_distances_by_lanes<Isa, T, Scaled, Vectors / 2>(lanes, n, n_columns, centers, scales,
                                                                          n_centers, out);
    // The lanes of one chain stay in the L1 cache.
    for (Index j = 0; j < n_columns; j += kChain)
        for (Index c = 0; c < n_centers; c += C)
            add_chain<Isa, T, Vectors, Scaled>(lanes + j * kLanes<T>, j, min_index(n_columns, j + kChain), centers + c,
                                               scales + c, out + c * kLanes<T>);
}

}  // namespace
}  // namespace coterie
