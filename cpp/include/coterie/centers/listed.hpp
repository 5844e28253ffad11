// Distances of rows to centers that each row lists.
#pragma once

#include <utility>

#include "coterie/centers/differences.hpp"
#include "coterie/centers/sorted_lists.hpp"
#include "coterie/machine/views.hpp"

namespace coterie {
namespace {

// Squared distances of a row to m centers, up to six of them side by side; pointers to them are filled up by one.
template <class Isa, class T, bool Scaled>
void distances_of_row(const T* row, Index width, const T* const* centers, const T* const* scales, Index m, T* out) {
    constexpr int L = Isa::kRegisterBytes / sizeof(T), kMost = Isa::kRegisterBytes == 16 ? 2 : L < 6 ? 4 : 6;
    const auto measure = [&]<int C>(std::integral_constant<int, C>) {
        distance_tile<Isa, T, 1, C, Scaled>(row, width, centers, scales, out, C);
        centers += C, scales += C, out += C, m -= C;
    };
    if constexpr (kMost >= 6)
        while (m > 4) measure(std::integral_constant<int, 6>{});
    if constexpr (kMost >= 4)
        while (m > 2) measure(std::integral_constant<int, 4>{});
    while (m > 0) measure(std::integral_constant<int, 2>{});
}

// Sorts a list of centers by their distances. Where it repeats its first entry, that stands in for a missing one, at an
// infinite distance. IN distances (m); IN/OUT listed (m); OUT kept (m), ascending.
template <class T>
void sort_listed(const T* distances, Index m, std::int32_t* listed, T* kept) {
    const std::int32_t former = listed[0];
    for (Index k = 0; k < m; ++k) {
        const std::int32_t c = listed[k];
        insert_sorted(kept, listed, k + 1, k > 0 && c == former ? infinity<T>() : distances[k], c);
    }
    // Where the first one stands in, it is the new one that does.
    for (Index k = 1; k < m; ++k)
        if (kept[k] == infinity<T>()) listed[k] = listed[0];
}

// Measures the distance of each row to the centers that it lists, and sorts the list by it; equal ones stay in order.
// Where a list repeats its first entry, that stands in for a missing one, at an infinite distance.
// IN x, centers; IN/OUT ids (n x m); OUT distances (n x m).
template <class Isa, class T>
void distances_to_listed(const DenseRows<T>& x, const ScaledCenters<T>& centers, Index m, std::int32_t* ids,
                         T* distances, int n_threads) {
    constexpr Index W = kLanes<T>, kChunk = 512;
    const bool is_scaled = centers.scales != nullptr;
    const auto distances_of = is_scaled ? distances_of_row<Isa, T, true> : distances_of_row<Isa, T, false>;
    const Index width = ceil_div(x.n_columns, W) * W;
    const Index padded = m + 1;
    const Buffer<T> points = padded_rows<Isa>(centers.centers, centers.n_centers, x.n_columns, width, n_threads);
    const Buffer<T> scales = padded_rows<Isa>(centers.scales, centers.n_centers, x.n_columns, width, n_threads);
    struct Scratch {
        Buffer<T> row, found;
        Buffer<const T*> centers, scales;
    };
    const auto make_scratch = [&] {
        return Scratch{Buffer<T>(width), Buffer<T>(padded), Buffer<const T*>(padded), Buffer<const T*>(padded)};
    };
    parallel_for(ceil_div(x.n_rows, kChunk), n_threads, make_scratch, [&](Index task, Scratch& scratch) {
        for (Index i = task * kChunk; i < min_index(x.n_rows, (task + 1) * kChunk); ++i) {
            std::int32_t* const listed = ids + i * m;
            copy_padded<Isa>(x.row(i), x.n_columns, scratch.row.data());
            for (Index k = 0; k < padded; ++k) {
                const Index c = listed[min_index(k, m - 1)];
                scratch.centers[k] = points.data() + c * width;
                scratch.scales[k] = is_scaled ? scales.data() + c * width : nullptr;
            }
            distances_of(scratch.row.data(), width, scratch.centers.data(), scratch.scales.data(), m,
                         scratch.found.data());
            for (Index k = 0; k < m; ++k)
                scratch.found[k] = scratch.found[k] * centers.precisions[listed[k]] + centers.offsets[listed[k]];
            sort_listed(scratch.found.data(), m, listed, distances + i * m);
        }
    });
}

}  // namespace
}  // namespace coterie
