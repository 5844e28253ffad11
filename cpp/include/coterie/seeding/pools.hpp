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

// OUT. The pairs, by proposal and then by row. rows and squares are allocated by the kernel, and freed by `free_pairs`.
template <class T>
struct Pairs {
    Index* starts;  // n_proposals + 1
    std::int32_t* rows;
    T* squares;
};

namespace {

template <class T>
struct Pair {
    std::int32_t proposal, row;
    T square;
};

// The pairs of a task, in no order.
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

// Turns counts into the places where each begins.
inline void add_up(Index* counts, Index n) {
    Index sum = 0;
    for (Index i = 0; i < n; ++i) {
        const Index count = counts[i];
        counts[i] = sum;
        sum += count;
    }
}

// Sorts all pairs by proposal and row, whatever the order of the tasks and within them.
template <class T>
void sort_pairs(const Buffer<PairList<T>>& lists, Index n_rows, Index n_proposals, const Pairs<T>& out) {
    Buffer<Index> places(n_rows + 1);
    places.fill(0);
    for (Index i = 0; i <= n_proposals; ++i) out.starts[i] = 0;
    const auto for_each = [&](auto use) {
        for (Index l = 0; l < lists.size(); ++l)
            for (Index i = 0; i < lists[l].n; ++i) use((*lists[l].pairs)[i]);
    };
    for_each([&](const Pair<T>& pair) {
        ++places[pair.row];
        ++out.starts[pair.proposal];
    });
    add_up(places.data(), n_rows + 1);
    add_up(out.starts, n_proposals + 1);
    const Index n = out.starts[n_proposals];
    Buffer<Pair<T>> by_row(n);
    for_each([&](const Pair<T>& pair) { by_row[places[pair.row]++] = pair; });
    Buffer<Index> next(n_proposals);
    for (Index p = 0; p < n_proposals; ++p) next[p] = out.starts[p];
    for (Index i = 0; i < n; ++i) {
        const Index place = next[by_row[i].proposal]++;
        out.rows[place] = by_row[i].row;
        out.squares[place] = by_row[i].square;
    }
}

template <class Isa, class Rows>
struct ReachSearch {
    using T = typename Rows::value_type;
    static constexpr Index W = kLanes<T>, H = Isa::kTileHeight;
    const Rows& x;
    const Centers<T>& proposals;
    const Reach<T>& reach;

    void add(Index row, std::int32_t proposal, T score, PairList<T>& found) const {
        const T square = score + reach.squares[row];
        found.add({proposal, static_cast<std::int32_t>(row), square > 0 ? square : T(0)});
    }

    // The score below which a row is nearer to a proposal than to its center.
    T limit(Index i) const { return reach.nearest[i] - reach.squares[i]; }

    // The pairs of n <= H rows and a panel, by their scores.
    void take(const Index* rows, const T* limits, Index n, const std::int32_t* ids, const T* tile,
              PairList<T>& found) const {
        for (Index r = 0; r < n; ++r)
            for (unsigned lanes = Isa::below(tile + r * W, limits[r]); lanes; lanes &= lanes - 1) {
                const Index lane = __builtin_ctz(lanes);
                add(rows[r], ids[lane], tile[r * W + lane], found);
            }
    }

    // Rows begin .. end - 1 and all proposals.
    void all(const Panels<T>& panels, Index begin, Index end, PairList<T>& found) const {
        Index rows[H];
        T limits[H];
        const Index slab = slab_of(panels.n_beside * W * panels.n_columns, panels.n_beside);
        for (Index p = 0; p < panels.n_panels; p += slab)
            for (Index first = begin; first < end; first += H) {
                const Index n = min_index(H, end - first);
                for (Index r = 0; r < n; ++r) {
                    rows[r] = first + r;
                    limits[r] = limit(first + r);
                }
                const auto use = [&](Index q, const T* tile) { take(rows, limits, n, panels.panel_ids(q), tile, found); };
                score_panels<Isa>(x, rows, n, panels, p, min_index(panels.n_panels, p + slab), use);
            }
    }

   private:
    // Number of panels that stay in the cache while the rows of a task are compared with them.
    static Index slab_of(Index n_numbers, Index n_beside) {
        const Index bytes = max_index(1, n_numbers * static_cast<Index>(sizeof(T)));
        return max_index(1, 384 * 1024 / bytes) * n_beside;
    }
};

// All pairs of a row and a proposal that is nearer to it than its nearest center is.
template <class Isa, class Rows>
void pairs_in_reach(const Rows& x, const Centers<typename Rows::value_type>& proposals,
                    const Reach<typename Rows::value_type>& reach, Pairs<typename Rows::value_type>& out,
                    int n_threads) {
    using T = typename Rows::value_type;
    const ReachSearch<Isa, Rows> search{x, proposals, reach};
    const auto run = [&](Index n_tasks, auto body) {
        Buffer<PairList<T>> lists(n_tasks);
        lists.fill({nullptr, 0});
        const auto clear = [&] {
            for (Index i = 0; i < n_tasks; ++i) delete lists[i].pairs;
        };
        try {
            parallel_for(n_tasks, n_threads, [&](Index task) { body(task, lists[task]); });
            Index n = 0;
            for (Index i = 0; i < n_tasks; ++i) n += lists[i].n;
            out.rows = static_cast<std::int32_t*>(allocate_aligned(sizeof(std::int32_t) * (n / 16 + 1) * 16));
            out.squares = static_cast<T*>(allocate_aligned(sizeof(T) * (n / 16 + 1) * 16));
            if (out.rows == nullptr || out.squares == nullptr) throw std::bad_alloc();
            sort_pairs(lists, x.n_rows, proposals.n_centers, out);
        } catch (...) {
            clear();
            throw;
        }
        clear();
    };
    const Index chunk = rows_per_chunk<T>(x.n_rows, x.n_columns, 256 * 1024, 1536);
    const Index n_tasks = ceil_div(x.n_rows, chunk);
    const Panels<T> panels = pack<Rows>(proposals, nullptr, proposals.n_centers, n_threads);
    run(n_tasks, [&](Index task, PairList<T>& found) {
        search.all(panels, task * chunk, min_index(x.n_rows, (task + 1) * chunk), found);
    });
}

}  // namespace
}  // namespace coterie
