// The m nearest centroids of every row, without ever writing the matrix of distances.
#pragma once

#include "coterie/centers/scores.hpp"
#include "coterie/centers/sorted_lists.hpp"

namespace coterie {
namespace {

// IN x, centers, first_id (the number of the first of them; 0 starts new lists, other numbers continue them);
// IN/OUT ids (n x m, ascending by score; equal scores by id), scores (n x m). 1 <= m <= first_id + n_centers.
template <class Isa, class Rows>
void nearest(const Rows& x, const Centers<typename Rows::value_type>& centers, Index first_id, Index m,
             std::int32_t* ids, typename Rows::value_type* scores, int n_threads) {
    using T = typename Rows::value_type;
    constexpr Index W = kLanes<T>;
    const Panels<T> panels = pack<Rows>(centers, nullptr, centers.n_centers, n_threads);
    const Index chunk = rows_per_chunk<T>(x.n_rows, x.n_columns, 256 * 1024, 1536);
    parallel_for(ceil_div(x.n_rows, chunk), n_threads, [&](Index task) {
        const Index begin = task * chunk, end = min_index(x.n_rows, begin + chunk);
        for (Index e = first_id == 0 ? begin * m : end * m; e < end * m; ++e) {
            scores[e] = infinity<T>();
            ids[e] = 0;
        }
        score_rows<Isa>(x, begin, end, panels, [&](Index first, Index n, Index p, const T* tile) {
            const auto id = [&](int lane) { return static_cast<std::int32_t>(first_id + p * W + lane); };
            for (Index r = 0; r < n; ++r)
                insert_lanes<Isa>(tile + r * W, id, m, scores + (first + r) * m, ids + (first + r) * m);
        });
    });
}

}  // namespace
}  // namespace coterie
