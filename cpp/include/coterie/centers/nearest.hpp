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
    constexpr Index W = kLanes<T>, H = Isa::kTileHeight, kSlabBytes = 512 * 1024;
    const Panels<T> panels = pack<Rows>(centers, nullptr, centers.n_centers, n_threads);
    // All rows of a task are compared with as many panels as stay in the cache before the next ones are read.
    const Index beside_bytes = panels.n_beside * W * static_cast<Index>(sizeof(T)) * x.n_columns;
    const Index slab = max_index(1, kSlabBytes / max_index(1, beside_bytes)) * panels.n_beside;
    const Index chunk = rows_per_chunk<T>(x.n_rows, x.n_columns, 256 * 1024, 1536);
    parallel_for(ceil_div(x.n_rows, chunk), n_threads, [&](Index task) {
        Index which[H];
        const Index begin = task * chunk, end = min_index(x.n_rows, begin + chunk);
        for (Index e = first_id == 0 ? begin * m : end * m; e < end * m; ++e) {
            scores[e] = infinity<T>();
            ids[e] = 0;
        }
        for (Index p = 0; p < panels.n_panels; p += slab)
            for (Index first = begin; first < end; first += H) {
                const Index n = min_index(H, end - first);
                for (Index r = 0; r < n; ++r) which[r] = first + r;
                const auto insert = [&](Index q, const T* tile) {
                    const auto id = [&](int lane) { return static_cast<std::int32_t>(first_id + q * W + lane); };
                    for (Index r = 0; r < n; ++r)
                        insert_lanes<Isa>(tile + r * W, id, m, scores + (first + r) * m, ids + (first + r) * m);
                };
                score_panels<Isa>(x, which, n, panels, p, min_index(panels.n_panels, p + slab), insert);
            }
    });
}

}  // namespace
}  // namespace coterie
