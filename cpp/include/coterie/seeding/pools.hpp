// Distances of rows to a pool of proposals, for D^2 sampling.
//
// A proposal matters to the rows that are nearer to it than to their nearest center so far: about n / (2 m) of n rows
// once there are m centers. These pairs are found in one pass over the rows, and the choice among the proposals of a
// pool needs only these.
#pragma once

#include "coterie/centers/scores.hpp"
#include "coterie/machine/lanes.hpp"

namespace coterie {

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

// All pairs of a row and a proposal that is nearer to it than its nearest center is. IN squares (n_rows): ||x - m||^2,
// nearest (n_rows): squared distances to the nearest centers.
template <class Isa, class Rows>
void pairs_in_reach(const Rows& x, const Centers<typename Rows::value_type>& proposals,
                    const typename Rows::value_type* squares, const typename Rows::value_type* nearest,
                    Pairs<typename Rows::value_type>& out, int n_threads) {
    using T = typename Rows::value_type;
    constexpr Index W = kLanes<T>;
    const Panels<T> panels = pack<Rows>(proposals, nullptr, proposals.n_centers, n_threads);
    const Index chunk = rows_per_chunk<T>(x.n_rows, x.n_columns, 256 * 1024, 1536), n_tasks = ceil_div(x.n_rows, chunk);
    struct Lists : Buffer<PairList<T>> {
        explicit Lists(Index n) : Buffer<PairList<T>>(n) { this->fill({nullptr, 0}); }
        ~Lists() {
            for (Index i = 0; i < this->size(); ++i) delete (*this)[i].pairs;
        }
    } lists(n_tasks);
    parallel_for(n_tasks, n_threads, [&](Index task) {
        const Index begin = task * chunk, end = min_index(x.n_rows, begin + chunk);
        score_rows<Isa>(x, begin, end, panels, [&](Index first, Index n, Index p, const T* tile) {
            for (Index r = 0; r < n; ++r) {
                // Scores below which the row is nearer to a proposal than to its center.
                const T own = squares[first + r], limit = nearest[first + r] - own;
                for (unsigned lanes = Isa::below(tile + r * W, limit); lanes; lanes &= lanes - 1) {
                    const Index lane = __builtin_ctz(lanes);
                    const T square = tile[r * W + lane] + own;
                    lists[task].add({panels.panel_ids(p)[lane], static_cast<std::int32_t>(first + r),
                                     square > 0 ? square : T(0)});
                }
            }
        });
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
