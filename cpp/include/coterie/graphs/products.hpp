// Products of rows with a few directions, of each row the same bits whatever others there are: BLAS sums in another order
// for another number of rows.
#pragma once

#include "coterie/centers/scores.hpp"

namespace coterie {
namespace {

// IN x, directions (as centers whose offsets are 0); OUT out (n_rows x n_directions).
template <class Isa, class T>
void products(const DenseRows<T>& x, const Centers<T>& directions, T* out, int n_threads) {
    constexpr Index W = kLanes<T>, H = Isa::kTileHeight;
    const Panels<T> panels = pack<DenseRows<T>>(directions, nullptr, directions.n_centers, n_threads);
    const Index m = directions.n_centers;
    parallel_for(ceil_div(x.n_rows, 4 * H), n_threads, [&](Index task) {
        Index which[H];
        for (Index first = task * 4 * H; first < min_index(x.n_rows, (task + 1) * 4 * H); first += H) {
            const Index n = min_index(H, x.n_rows - first);
            for (Index r = 0; r < n; ++r) which[r] = first + r;
            score_panels<Isa>(x, which, n, panels, 0, panels.n_panels, [&](Index p, const T* tile) {
                for (Index r = 0; r < n; ++r)
                    for (Index l = 0; l < min_index(W, m - p * W); ++l)
                        out[(first + r) * m + p * W + l] = T(-0.5) * tile[r * W + l];
            });
        }
    });
}

}  // namespace
}  // namespace coterie
