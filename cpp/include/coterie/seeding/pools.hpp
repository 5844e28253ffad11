// Distances of rows to a pool of proposals, for D^2 sampling.
//
// A proposal matters to the rows that are nearer to it than to their nearest center so far: about n / (2 m) of n rows
// once there are m centers. These pairs are found in one pass over the rows, and the choice among the proposals of a
// pool needs only these.
#pragma once

#include "coterie/centers/scores.hpp"
#include "coterie/machine/lanes.hpp"

namespace coterie {

// IN. The rows of a block, and the pool.
template <class T>
struct Reach {
    const T* squares;  // n_rows: ||x - m||^2
    const T* nearest;  // n_rows: squared distance to the nearest center
};

// OUT. The pairs; those of a proposal are in the order of the rows. Arrays are allocated by the kernel (free_aligned).
template <class T>
struct Pairs {
    Index n;
    std::int32_t *proposals, *rows;
    T* squares;
};

namespace {

template <class T>
struct Pair {
    std::int32_t proposal, row;
    T square;
};

// The pairs of a task.
template <class T>
struct PairList {
    Buffer<Pair<T>>* pairs;
    Index n;

    void add(const Pair<T>& pair) {
        if (pairs == nullptr) pairs = new Buffer<Pair<T>>(64);
        if (n == pairs->size()) {
            Buffer<Pair<T>> larger(2 * n);
            for (Index i = 0; i < n; ++i) larger[i] = (*pairs)[i];
            *pairs = static_cast<Buffer<Pair<T>>&&>(larger);
        }
        (*pairs)[n++] = pair;
    }
};

// All pairs of a row and a proposal that is nearer to it than its nearest center is.
template <class Isa, class Rows>
void pairs_in_reach(const Rows& x, const Centers<typename Rows::value_type>& proposals,
                    const Reach<typename Rows::value_type>& reach, Pairs<typename Rows::value_type>& out,
                    int n_threads) {
    using T = typename Rows::value_type;
    constexpr Index W = kLanes<T>, H = Isa::kTileHeight, kSlabBytes = 384 * 1024;
    const Panels<T> panels = pack<Rows>(proposals, nullptr, proposals.n_centers, n_threads);
    // Panels that stay in the cache while the rows of a task are compared with them.
    const Index beside_bytes = max_index(1, panels.stride() * panels.n_columns * static_cast<Index>(sizeof(T)));
    const Index slab = max_index(1, kSlabBytes / beside_bytes) * panels.n_beside;
    const Index chunk = rows_per_chunk<T>(x.n_rows, x.n_columns, 256 * 1024, 1536), n_tasks = ceil_div(x.n_rows, chunk);
    struct Lists : Buffer<PairList<T>> {
        explicit Lists(Index n) : Buffer<PairList<T>>(n) { this->fill({nullptr, 0}); }
        ~Lists() {
            for (Index i = 0; i < this->size(); ++i) delete (*this)[i].pairs;
        }
    } lists(n_tasks);
    parallel_for(n_tasks, n_threads, [&](Index task) {
        Index rows[H];
        T limits[H];  // scores below which rows are nearer to a proposal than to their centers
        const Index end = min_index(x.n_rows, (task + 1) * chunk);
        for (Index p = 0; p < panels.n_panels; p += slab)
            for (Index first = task * chunk; first < end; first += H) {
                const Index n = min_index(H, end - first);
                for (Index r = 0; r < n; ++r) {
                    rows[r] = first + r;
                    limits[r] = reach.nearest[first + r] - reach.squares[first + r];
                }
                score_panels<Isa>(x, rows, n, panels, p, min_index(panels.n_panels, p + slab), [&](Index q, const T* tile) {
                    for (Index r = 0; r < n; ++r)
                        for (unsigned lanes = Isa::below(tile + r * W, limits[r]); lanes; lanes &= lanes - 1) {
                            const Index lane = __builtin_ctz(lanes);
                            const T square = tile[r * W + lane] + reach.squares[first + r];
                            lists[task].add({panels.panel_ids(q)[lane], static_cast<std::int32_t>(first + r),
                                             square > 0 ? square : T(0)});
                        }
                });
            }
    });
    out.n = 0;
    for (Index l = 0; l < n_tasks; ++l) out.n += lists[l].n;
    const auto n_lines = static_cast<std::size_t>(out.n / 16 + 1);
    out.proposals = static_cast<std::int32_t*>(allocate_aligned(n_lines * 16 * sizeof(std::int32_t)));
    out.rows = static_cast<std::int32_t*>(allocate_aligned(n_lines * 16 * sizeof(std::int32_t)));
    out.squares = static_cast<T*>(allocate_aligned(n_lines * 16 * sizeof(T)));
    if (out.proposals == nullptr || out.rows == nullptr || out.squares == nullptr) throw std::bad_alloc();
    for (Index l = 0, at = 0; l < n_tasks; ++l)
        for (Index i = 0; i < lists[l].n; ++i, ++at) {
            const Pair<T>& pair = (*lists[l].pairs)[i];
            out.proposals[at] = pair.proposal;
            out.rows[at] = pair.row;
            out.squares[at] = pair.square;
        }
}

}  // namespace
}  // namespace coterie
