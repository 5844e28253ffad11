// The m nearest centroids of every row, without ever writing the matrix of distances.
#pragma once

#include "parallel.hpp"
#include "scores.hpp"

namespace coterie {
namespace {

// Puts (score, id) into a list sorted by score, then id; its last entry falls out.
template <class T>
void insert_sorted(T* scores, std::int32_t* ids, Index m, T score, std::int32_t id) {
    Index at = m - 1;
    for (; at > 0 && score < scores[at - 1]; --at) {
        scores[at] = scores[at - 1];
        ids[at] = ids[at - 1];
    }
    scores[at] = score;
    ids[at] = id;
}

// IN x, centers; OUT ids (n x m, ascending by score; equal scores by id), scores (n x m). 1 <= m <= n_centers.
template <class Isa, class Rows>
void nearest(const Rows& x, const Centers<typename Rows::value_type>& centers, Index m, std::int32_t* ids,
             typename Rows::value_type* scores, int n_threads) {
    using T = typename Rows::value_type;
    constexpr Index W = kLanes<T>, H = Isa::kTileHeight;
    const Panels<T> panels = pack<Rows>(centers, nullptr, centers.n_centers, n_threads);
    const Index chunk = rows_per_chunk<T>(x.n_rows, x.n_columns, 256 * 1024, 1536);
    parallel_for(ceil_div(x.n_rows, chunk), n_threads, [&](Index task) {
        Index which[H];
        const Index end = min_index(x.n_rows, (task + 1) * chunk);
        for (Index first = task * chunk; first < end; first += H) {
            const Index n = min_index(H, end - first);
            for (Index r = 0; r < n; ++r) which[r] = first + r;
            for (Index e = first * m; e < (first + n) * m; ++e) {
                scores[e] = infinity<T>();
                ids[e] = 0;
            }
            score_all<Isa>(x, which, n, panels, [&](Index p, const T* tile) {
                for (Index r = 0; r < n; ++r) {
                    T* row_scores = scores + (first + r) * m;
                    unsigned lanes = Isa::below(tile + r * W, row_scores[m - 1]);
                    for (; lanes != 0; lanes &= lanes - 1) {
                        const int lane = __builtin_ctz(lanes);
                        if (tile[r * W + lane] < row_scores[m - 1])
                            insert_sorted(row_scores, ids + (first + r) * m, m, tile[r * W + lane],
                                          static_cast<std::int32_t>(p * W + lane));
                    }
                }
            });
        }
    });
}

}  // namespace
}  // namespace coterie
