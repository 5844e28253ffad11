// Distances of rows to a pool of proposals, for D^2 sampling.
//
// A proposal matters to the rows that are nearer to it than to their nearest center so far: about n / (2 m) of n rows
// once there are m centers. These pairs are found in one pass over the rows, and the choice among the proposals of a
// pool needs only these. Two tests exclude pairs without computing their distance, and never a pair of the result:
// groups  A row that is at most r from an anchor a is nearer to its center, at distance q, than to a proposal p with
// ||a - p|| >= r + q. Rows are visited by their anchors, proposals in the order of their distance to it.   heads   With
// the first coordinates h of an orthonormal basis and the lengths t of the rest,           ||x - p||^2 >= ||x||^2 +
// ||p||^2 - 2 (x_h . p_h + x_t p_t), a product of few columns.
#pragma once

#include "coterie/centers/scores.hpp"
#include "coterie/machine/lanes.hpp"

namespace coterie {

// IN. The rows of a block, and the pool.
template <class T>
struct Reach {
    const T* squares;  // n_rows: ||x - m||^2
    const T* nearest;  // n_rows: squared distance to the nearest center
    T error_norm, error_square, error_constant;  // error of a score: norm * ||x|| + square * ||x - m||^2 + constant
    T shift_norm;                                // ||m||
    // Groups; anchors is nullptr without them.
    const std::int32_t* anchors;  // n_rows: each an anchor
    const T* anchor_squares;      // n_rows: squared distance to it, with the error of a score
    const T* distances;           // n_anchors x n_proposals: between anchors and proposals, rounded down
    Index n_anchors;
    // Heads, and the tail's length as the last column; head_rows is nullptr without them.
    const T* head_rows;  // n_rows x heads.n_columns
    Centers<T> heads;    // of the proposals; the offsets take off the rounding errors of proposals
    T head_slack;        // times ||x - m||^2: rounding errors of rows
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

    T error(Index i) const {
        const T square = reach.squares[i];
        return reach.error_norm * (square_root(square) + reach.shift_norm) + reach.error_square * square +
               reach.error_constant;
    }

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

    // The same; pairs that heads cannot exclude are compared in all columns.
    void by_heads(const Panels<T>& panels, Index begin, Index end, PairList<T>& found) const {
        const DenseRows<T> heads{reach.head_rows, x.n_rows, reach.heads.n_columns, nullptr};
        Index rows[H];
        T limits[H], head_limits[H];
        // The rows of a task and this number of proposals stay in the cache together.
        const Index slab = slab_of(W * x.n_columns, 1);
        for (Index p = 0; p < panels.n_panels; p += slab)
            for (Index first = begin; first < end; first += H) {
                const Index n = min_index(H, end - first);
                for (Index r = 0; r < n; ++r) {
                    const Index i = rows[r] = first + r;
                    limits[r] = limit(i);
                    head_limits[r] = limits[r] + reach.head_slack * reach.squares[i] + error(i);
                }
                const auto finish = [&](Index q, const T* tile) {
                    const std::int32_t* ids = panels.panel_ids(q);
                    for (Index r = 0; r < n; ++r)
                        for (unsigned lanes = Isa::below(tile + r * W, head_limits[r]); lanes; lanes &= lanes - 1) {
                            const std::int32_t id = ids[__builtin_ctz(lanes)];
                            const T product = dot<Isa>(x, rows[r], proposals.data + id * proposals.n_columns);
                            const T score = proposals.offsets[id] - 2 * product;
                            if (score < limits[r]) add(rows[r], id, score, found);
                        }
                };
                score_panels<Isa>(heads, rows, n, panels, p, min_index(panels.n_panels, p + slab), finish);
            }
    }

    // The rows of an anchor and the proposals within their radii. Both are sorted into bins by distance from the
    // anchor: rows by radius, descending, proposals by distance, ascending.
    void of_anchor(Index anchor, const Index* members, Index n_members, PairList<T>& found) const {
        constexpr T Up = 1 + 8 * epsilon<T>();
        constexpr Index Bins = 64;
        const T* distances = reach.distances + anchor * proposals.n_centers;
        Buffer<T> reaches(n_members);
        T farthest = 0;
        for (Index r = 0; r < n_members; ++r) {
            const Index i = members[r];
            const T e = error(i);
            reaches[r] = (square_root(reach.anchor_squares[i] + e) + square_root(reach.nearest[i] + e)) * Up;
            if (reaches[r] > farthest) farthest = reaches[r];
        }
        Buffer<std::int32_t> near(proposals.n_centers);
        Index n_near = 0;
        for (Index p = 0; p < proposals.n_centers; ++p) {
            near[n_near] = static_cast<std::int32_t>(p);
            n_near += distances[p] < farthest;
        }
        if (n_near == 0) return;
        const T scale = Bins / farthest;
        const auto bin_of = [&](T distance) { return min_index(Bins - 1, static_cast<Index>(distance * scale)); };
        Index ends[Bins + 1] = {}, reaching[Bins + 1] = {};
        for (Index i = 0; i < n_near; ++i) ++ends[bin_of(distances[near[i]])];
        add_up(ends, Bins + 1);
        Buffer<std::int32_t> order(ceil_div(n_near, W) * W);
        order.fill(-1);
        for (Index i = 0; i < n_near; ++i) order[ends[bin_of(distances[near[i]])]++] = near[i];
        for (Index r = 0; r < n_members; ++r) ++reaching[Bins - 1 - bin_of(reaches[r])];
        add_up(reaching, Bins + 1);
        Buffer<Index> rows(n_members);
        Buffer<T> limits(n_members);
        for (Index r = 0; r < n_members; ++r) {
            const Index place = reaching[Bins - 1 - bin_of(reaches[r])]++;
            rows[place] = members[r];
            limits[place] = limit(members[r]);
        }
        const Panels<T> panels = pack<DenseRows<T>>(proposals, order.data(), order.size(), 1);
        alignas(64) T tile[H * W];
        for (Index p = 0; p < panels.n_panels; ++p) {
            const std::int32_t* ids = panels.panel_ids(p);
            // The first proposal is in the nearest bin.
            const Index n_reaching = reaching[Bins - 1 - bin_of(distances[ids[0]])];
            for (Index first = 0; first < n_reaching; first += H) {
                const Index n = min_index(H, n_reaching - first);
                score_slab<Isa>(x, rows.data() + first, n, panels, p, p + 1, 0, tile);
                take(rows.data() + first, limits.data() + first, n, ids, tile, found);
            }
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
    if (reach.anchors != nullptr) {
        Buffer<Index> starts(reach.n_anchors + 1), members(x.n_rows);
        starts.fill(0);
        for (Index i = 0; i < x.n_rows; ++i) ++starts[reach.anchors[i]];
        add_up(starts.data(), reach.n_anchors + 1);
        for (Index i = 0; i < x.n_rows; ++i) members[starts[reach.anchors[i]]++] = i;
        // A large group is divided, so that threads share it.
        constexpr Index Most = 2048;
        Index n_tasks = 0;
        for (Index a = 0; a < reach.n_anchors; ++a) n_tasks += ceil_div(starts[a] - (a == 0 ? 0 : starts[a - 1]), Most);
        Buffer<Index> firsts(n_tasks), anchors(n_tasks);
        for (Index a = 0, t = 0; a < reach.n_anchors; ++a)
            for (Index first = a == 0 ? 0 : starts[a - 1]; first < starts[a]; first += Most) {
                firsts[t] = first;
                anchors[t++] = a;
            }
        run(n_tasks, [&](Index task, PairList<T>& found) {
            const Index n = min_index(Most, starts[anchors[task]] - firsts[task]);
            search.of_anchor(anchors[task], members.data() + firsts[task], n, found);
        });
        return;
    }
    const Index chunk = rows_per_chunk<T>(x.n_rows, x.n_columns, 256 * 1024, 1536);
    const Index n_tasks = ceil_div(x.n_rows, chunk);
    if constexpr (__is_same(Rows, DenseRows<T>)) {
        if (reach.head_rows != nullptr) {
            const Panels<T> panels = pack<DenseRows<T>>(reach.heads, nullptr, reach.heads.n_centers, n_threads);
            run(n_tasks, [&](Index task, PairList<T>& found) {
                search.by_heads(panels, task * chunk, min_index(x.n_rows, (task + 1) * chunk), found);
            });
            return;
        }
    }
    const Panels<T> panels = pack<Rows>(proposals, nullptr, proposals.n_centers, n_threads);
    run(n_tasks, [&](Index task, PairList<T>& found) {
        search.all(panels, task * chunk, min_index(x.n_rows, (task + 1) * chunk), found);
    });
}

}  // namespace
}  // namespace coterie
