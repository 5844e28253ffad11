// Products of rows with a few directions, of each row the same bits whatever others there are: BLAS sums in another order
// for another number of rows.
#pragma once

#include "coterie/centers/scores.hpp"

namespace coterie {
namespace {

// IN x, directions (as centers whose offsets are 0); OUT out (n_rows x n_directions).
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
