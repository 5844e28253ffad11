// The nearest of a few candidates, by differences in all columns.
#pragma once

#include "coterie/centers/differences.hpp"
#include "coterie/machine/views.hpp"

namespace coterie {

// Rows, and the candidates of each.
struct Candidates {
    const Index* row_order;   // n_listed: consecutive rows have common candidates, which stay in the cache
    const std::int32_t* ids;  // n_rows x m, distinct points; -1 for none
    Index n_listed;
    Index m;
};

namespace {

// IN x, points (n_points x n_columns), candidates; OUT ids, squares (n_rows x n_kept, of the rows listed): ascending by
// square, equal squares by id; -1 and infinite where there are too few. are_points: row i is point i, and is left out.
template <class Isa, class T>
void nearest_of_candidates(const DenseRows<T>& x, const T* points, Index n_points, const Candidates& candidates,
                           bool are_points, Index n_kept, std::int32_t* ids, T* squares, int n_threads) {
    constexpr Index W = kLanes<T>, kRows = 64, kBatch = kTileCenters<Isa, T>;
    const Index d = x.n_columns, width = ceil_div(d, W) * W, m = candidates.m;
    // Points that fill whole cache lines are not copied.
    const Buffer<T> padded = padded_rows<Isa>(d == width ? nullptr : points, n_points, d, width, n_threads);
    const T* const places = d == width ? points : padded.data();
    struct Scratch {
        Buffer<T> row, found;
        Buffer<std::int32_t> listed;
        Buffer<const T*> places;
    };
    const auto make_scratch = [&] {
        return Scratch{Buffer<T>(width), Buffer<T>(m + kBatch), Buffer<std::int32_t>(m), Buffer<const T*>(m + kBatch)};
    };
    parallel_for(ceil_div(candidates.n_listed, kRows), n_threads, make_scratch, [&](Index task, Scratch& scratch) {
        for (Index at = task * kRows; at < min_index(candidates.n_listed, (task + 1) * kRows); ++at) {
            const Index i = candidates.row_order[at];
            const std::int32_t* const listed = candidates.ids + i * m;
            std::int32_t* const kept = ids + i * n_kept;
            T* const distances = squares + i * n_kept;
            Index n_found = 0;
            for (Index k = 0; k < m; ++k)
                if (listed[k] >= 0 && !(are_points && listed[k] == i)) {
                    scratch.listed[n_found] = listed[k];
                    scratch.places[n_found++] = places + listed[k] * width;
                }
            for (Index k = 0; k < n_kept; ++k) {
                kept[k] = -1;
                distances[k] = infinity<T>();
            }
            if (n_found == 0) continue;
            const Index whole = ceil_div(n_found, kBatch) * kBatch;
            for (Index k = n_found; k < whole; ++k) scratch.places[k] = scratch.places[0];
            copy_padded<Isa>(x.row(i), d, scratch.row.data());
            square_distances<Isa, T, false>(scratch.row.data(), 1, width, scratch.places.data(), scratch.places.data(),
                                            whole, scratch.found.data(), whole);
            for (Index k = 0; k < n_found; ++k) {
                const T square = scratch.found[k];
                const std::int32_t id = scratch.listed[k];
                const auto is_before = [&](Index slot) {
                    return square < distances[slot] || (square == distances[slot] && (kept[slot] < 0 || id < kept[slot]));
                };
                if (!is_before(n_kept - 1)) continue;
                Index slot = n_kept - 1;
                for (; slot > 0 && is_before(slot - 1); --slot) {
                    distances[slot] = distances[slot - 1];
                    kept[slot] = kept[slot - 1];
                }
                distances[slot] = square;
                kept[slot] = id;
            }
        }
    });
}

}  // namespace
}  // namespace coterie
