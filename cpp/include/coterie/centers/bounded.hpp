// Exact assignment that skips distances by the triangle inequality.
//
// Every row keeps an upper bound on the distance to its own centroid and lower bounds on the distances to the
// others. Two ways to keep lower bounds, chosen by the type Bounds:
//   LaneBounds   one per centroid                    (Elkan 2003, in the simplified form of Newling & Fleuret 2016)
//   GroupBounds  one per group of whole panels       (Yinyang, Ding et al. 2015; with one group: Hamerly 2010)
// Lower bounds are stored in 16 bits, rounded down, with the cumulative drift at the time of writing added, so that a
// moving centroid costs nothing: the bound in force is `stored - cumulative drift now`.
//
// Distances are computed a panel at a time, for all rows of a chunk that could not exclude it: pruning decides
// which panels, and the panel product runs at the speed of a matrix product. All bounds are widened by the
// rounding error of a score, so the labels are those that the plain nearest-centroid search would give.
#pragma once

#include "coterie/centers/scores.hpp"
#include "coterie/machine/lanes.hpp"
#include "coterie/machine/stored_bounds.hpp"

namespace coterie {

// IN. Everything that is the same for all rows in one iteration.
template <class T>
struct BoundedStep {
    const std::int32_t* order;    // n_slots: which centroid is in which slot of the panels, -1 for none
    const std::int32_t* slots;    // n_centers: the inverse of order
    Index n_slots;                // a multiple of the panel width
    Index panels_per_group;       // 0: one bound per slot
    const T* drift;               // n_centers: how far each moved since the last iteration, rounded up
    const T* cumulative_drift;    // one per bound of a row: sum of the (largest) drifts so far, rounded up
    T error_norm, error_square, error_constant;  // error of a score: norm * ||x|| + square * ||x - m||^2 + constant
    T shift_norm;                 // ||m||
    BitsType<T> bias;             // of stored lower bounds
    bool first;                   // no bounds yet: compute everything
};

// IN squares (||x - m||^2); IN/OUT the rest. One entry per row; lower has n_bounds per row.
template <class T>
struct BoundedState {
    const T* squares;
    std::int32_t* labels;
    T* upper;
    StoredBound* lower;
    Index n_bounds;
};

namespace {

template <class T>
inline constexpr T kUlp = sizeof(T) == 4 ? T(5.9604645e-8) : T(1.1102230246251565e-16);

// State of the search of a row.
template <class T>
struct Search {
    Index row;
    T square;              // ||x - m||^2
    T error;               // of a score
    T best;                // lowest score so far
    T own;                 // score of the centroid that it came with
    std::int32_t best_id;  // -1: none yet
    std::int32_t own_id;   // -1: none
    bool own_visited;      // the own centroid's panel is among those to compute
    bool best_is_rough;    // best is the own score from a plain dot product, rounded differently from a panel's
};

template <class T>
T distance_above(const Search<T>& s, T score) {
    return square_root(s.square + score + s.error) * (1 + 4 * kUlp<T>);
}

template <class T>
T distance_below(T square, T score, T error) {
    return square_root(square + score - error) * (1 - 8 * kUlp<T>);
}

template <class T>
bool is_below(StoredBound lower, BitsType<T> bias, T bound) {
    return lower == kNoBound || stored_value<T>(lower, bias) < bound;
}

// Calls use(b) for the bounds with lower[b] < drift[b] + upper.
template <class Isa, class T, class Use>
void for_each_below(const StoredBound* lower, BitsType<T> bias, const T* drift, Index n, T upper, Use use) {
    constexpr Index W = kLanes<T>;
    const T least = stored_value<T>(1, bias);
    Index b = 0;
    for (; b + W <= n; b += W)
        for (unsigned lanes = Isa::below_moved(lower + b, bias, least, drift + b, upper); lanes; lanes &= lanes - 1)
            use(b + __builtin_ctz(lanes));
    for (; b < n; ++b)
        if (is_below(lower[b], bias, drift[b] + upper)) use(b);
}

template <class Isa, class T>
bool any_below(const StoredBound* lower, BitsType<T> bias, const T* drift, Index n, T upper) {
    constexpr Index W = kLanes<T>;
    const T least = stored_value<T>(1, bias);
    unsigned any = 0;
    Index b = 0;
    for (; b + W <= n; b += W) any |= Isa::below_moved(lower + b, bias, least, drift + b, upper);
    for (; b < n; ++b) any |= static_cast<unsigned>(is_below(lower[b], bias, drift[b] + upper));
    return any != 0;
}

template <class Isa, class T>
struct LaneBounds {
    static constexpr Index W = kLanes<T>;
    const BoundedStep<T>& step;
    const BoundedState<T>& state;

    // Calls use(panel) for the panels in which a centroid may be nearer than upper.
    template <class Use>
    void for_each_panel(Index row, T upper, Use use) const {
        const StoredBound* lower = state.lower + row * state.n_bounds;
        const T least = stored_value<T>(1, step.bias);
        const Index n_panels = state.n_bounds / W;
        for (Index p = 0; p < n_panels; ++p)
            if (Isa::below_moved(lower + p * W, step.bias, least, step.cumulative_drift + p * W, upper) != 0) use(p);
    }
    // Up to W rows have been compared with a panel: scores, W of each row, and the lowest of each that is not about to
    // become the row's best. p_in_group, group: where panel p is; only GroupBounds cares.
    void visit(const Search<T>* const* searches, Index n, Index p, const T* scores, const T*, Index, Index) const {
        for (Index r = 0; r < n; ++r, scores += W) {
            const Search<T>& s = *searches[r];
            const T* drift = step.cumulative_drift + p * W;
            T bounds[W];
            for (Index l = 0; l < W; ++l) bounds[l] = distance_below(s.square, scores[l], s.error) + drift[l];
            store_bounds<T, W>(bounds, step.bias, state.lower + s.row * state.n_bounds + p * W);
        }
    }
    void retire(const Search<T>& s, std::int32_t id, T score) const {
        const Index slot = step.slots[id];
        const T bound = distance_below(s.square, score, s.error) + step.cumulative_drift[slot];
        state.lower[s.row * state.n_bounds + slot] = store_bound(bound, step.bias);
    }
    void own(const Search<T>& s) const { state.lower[s.row * state.n_bounds + step.slots[s.best_id]] = kEndlessBound; }
};

template <class Isa, class T>
struct GroupBounds {
    static constexpr Index W = kLanes<T>;
    const BoundedStep<T>& step;
    const BoundedState<T>& state;

    Index group(Index p) const { return p / step.panels_per_group; }
    StoredBound& lower(Index row, Index g) const { return state.lower[row * state.n_bounds + g]; }
    void lower_to(const Search<T>& s, Index g, T score) const {
        const T bound = distance_below(s.square, score, s.error) + step.cumulative_drift[g];
        const StoredBound stored = store_bound(bound, step.bias);
        if (stored < lower(s.row, g)) lower(s.row, g) = stored;
    }

    template <class Use>
    void for_each_panel(Index row, T upper, Use use) const {
        const Index n_panels = step.n_slots / W;
        const Index size = step.panels_per_group;
        for_each_below<Isa>(&lower(row, 0), step.bias, step.cumulative_drift, state.n_bounds, upper, [&](Index g) {
            for (Index p = g * size; p < min_index(n_panels, (g + 1) * size); ++p) use(p);
        });
    }
    void visit(const Search<T>* const* searches, Index n, Index, const T*, const T* lowest, Index p_in_group,
               Index g) const {
        // All lanes are computed by one instruction; those beyond n belong to no row.
        T squares[W] = {}, errors[W] = {}, bounds[W];
        StoredBound stored[W];
        for (Index r = 0; r < n; ++r) {
            squares[r] = searches[r]->square;
            errors[r] = searches[r]->error;
        }
        const T drift = step.cumulative_drift[g];
        for (Index r = 0; r < W; ++r) bounds[r] = distance_below(squares[r], lowest[r], errors[r]) + drift;
        store_bounds<T, W>(bounds, step.bias, stored);
        for (Index r = 0; r < n; ++r) {
            StoredBound& kept = lower(searches[r]->row, g);
            if (p_in_group == 0 || stored[r] < kept) kept = stored[r];
        }
    }
    void retire(const Search<T>& s, std::int32_t id, T score) const {
        lower_to(s, group(step.slots[id] / W), score);
    }
    void own(const Search<T>&) const {}
};

template <class T>
struct BoundedScratch {
    Buffer<Search<T>> searches;
    Buffer<std::int32_t> wanted;  // n_panels x chunk: searches that need the panel
    Buffer<Index> n_wanted;       // n_panels
};

template <class Isa, class Rows, class Bounds>
struct BoundedChunk {
    using T = typename Rows::value_type;
    static constexpr Index W = kLanes<T>, H = Isa::kTileHeight;
    const Rows& x;
    const Centers<T>& centers;
    const Panels<T>& panels;
    const BoundedStep<T>& step;
    const BoundedState<T>& state;
    const Bounds& bounds;
    Index chunk;

    // Selects the panels that the row must be compared with. Returns false if its label cannot have changed.
    bool open(Index row, Search<T>& s, Index index, BoundedScratch<T>& scratch) const {
        const T square = s.square = state.squares[row];
        s.row = row;
        s.error = step.error_norm * (square_root(square) + step.shift_norm) + step.error_square * square +
                  step.error_constant;
        s.best = infinity<T>();
        s.best_id = s.own_id = -1;
        s.own_visited = s.best_is_rough = false;
        T upper = infinity<T>();
        if (!step.first) {
            const std::int32_t label = state.labels[row];
            upper = (state.upper[row] + step.drift[label]) * (1 + 2 * kUlp<T>);
            state.upper[row] = upper;
            const StoredBound* lower = state.lower + row * state.n_bounds;
            if (!any_below<Isa>(lower, step.bias, step.cumulative_drift, state.n_bounds, upper)) return false;
            s.own_id = label;
            s.own = centers.offsets[label] - 2 * dot<Isa>(x, row, centers.data + label * x.n_columns);
            const T tight = distance_above(s, s.own);
            if (tight < upper) state.upper[row] = upper = tight;
        }
        bool found = false;
        const Index own_panel = s.own_id >= 0 ? step.slots[s.own_id] / W : -1;
        const auto want = [&](Index p) {
            scratch.wanted[p * chunk + scratch.n_wanted[p]++] = static_cast<std::int32_t>(index);
            found = true;
            s.own_visited |= p == own_panel;
        };
        if (step.first)
            for (Index p = 0; p < panels.n_panels; ++p) want(p);
        else bounds.for_each_panel(row, upper, want);
        if (s.own_id >= 0 && !s.own_visited) {
            s.best = s.own;
            s.best_id = s.own_id;
            s.best_is_rough = true;
        }
        return found;
    }

    // The own score with the rounding of a panel, for the rare rows in which rounding could decide.
    void refine(Search<T>& s) const {
        alignas(64) T scores[W];
        const Index slot = step.slots[s.own_id];
        score_rows<Isa>(x, &s.row, 1, panels, slot / W, scores);
        s.best = scores[slot % W];
        s.best_is_rough = false;
    }

    // Returns the lane that becomes the row's best, -1 if none does.
    Index winner_of(Search<T>& s, const T* scores, T lowest, const std::int32_t* ids) const {
        const T margin = s.best_is_rough ? 2 * s.error : T(0);
        if (!(lowest <= s.best + margin)) return -1;
        if (s.best_is_rough && !(lowest < s.best - margin)) refine(s);
        Index lane = 0;
        while (scores[lane] != lowest) ++lane;
        return lowest < s.best || (lowest == s.best && ids[lane] < s.best_id) ? lane : -1;
    }

    // Takes in the scores of n <= W rows with panel p; W lines of them can be read.
    void visit(Search<T>* const* searches, Index n, Index p, const T* scores, Index p_in_group, Index group) const {
        const std::int32_t* ids = panels.panel_ids(p);
        alignas(64) T lowest[W];
        reinterpret_cast<const Square<Isa, T>*>(scores)->reduce_lines(lowest, Least<Isa>());
        Index won[W], lanes[W], n_won = 0;
        for (Index r = 0; r < n; ++r) {
            const Index lane = winner_of(*searches[r], scores + r * W, lowest[r], ids);
            if (lane < 0) continue;
            won[n_won] = r;
            lanes[n_won++] = lane;
            lowest[r] = infinity<T>();
            for (Index l = 0; l < W; ++l)
                if (l != lane && scores[r * W + l] < lowest[r]) lowest[r] = scores[r * W + l];
        }
        bounds.visit(searches, n, p, scores, lowest, p_in_group, group);
        for (Index i = 0; i < n_won; ++i) {
            Search<T>& s = *searches[won[i]];
            if (s.best_id >= 0) bounds.retire(s, s.best_id, s.best);
            s.best = scores[won[i] * W + lanes[i]];
            s.best_id = ids[lanes[i]];
            s.best_is_rough = false;
        }
    }

    // Returns 1 if the label changed.
    Index close(const Search<T>& s) const {
        state.upper[s.row] = distance_above(s, s.best);
        bounds.own(s);
        if (s.best_id == s.own_id) return 0;
        state.labels[s.row] = s.best_id;
        return 1;
    }

    // Returns the number of rows from first to end - 1 whose labels changed.
    Index run(Index first, Index end, BoundedScratch<T>& scratch) const {
        scratch.n_wanted.fill(0);
        Index n_searches = 0, n_changed = 0;
        for (Index row = first; row < end; ++row)
            if (open(row, scratch.searches[n_searches], n_searches, scratch)) ++n_searches;
        // Whole tiles of rows that are then taken in by squares.
        constexpr Index kBatch = 48;
        static_assert(kBatch % H == 0 && kBatch % W == 0);
        alignas(64) T scores[kBatch * W] = {};
        Index rows[kBatch];
        Search<T>* searches[kBatch];
        for (Index p = 0; p < panels.n_panels; ++p) {
            const std::int32_t* wanted = scratch.wanted.data() + p * chunk;
            const Index per_group = max_index(step.panels_per_group, 1);
            const Index group = p / per_group, p_in_group = p % per_group;
            for (Index at = 0; at < scratch.n_wanted[p]; at += kBatch) {
                const Index n = min_index(kBatch, scratch.n_wanted[p] - at);
                for (Index r = 0; r < n; ++r) {
                    searches[r] = &scratch.searches[wanted[at + r]];
                    rows[r] = searches[r]->row;
                }
                for (Index r = 0; r < n; r += H)
                    score_rows<Isa>(x, rows + r, min_index(H, n - r), panels, p, scores + r * W);
                for (Index r = 0; r < n; r += W)
                    visit(searches + r, min_index(W, n - r), p, scores + r * W, p_in_group, group);
            }
        }
        for (Index i = 0; i < n_searches; ++i) n_changed += close(scratch.searches[i]);
        return n_changed;
    }
};

template <class Isa, class Rows, class Bounds>
Index bounded_assign_with(const Rows& x, const Centers<typename Rows::value_type>& centers,
                          const BoundedStep<typename Rows::value_type>& step,
                          const BoundedState<typename Rows::value_type>& state, const Bounds& bounds, int n_threads) {
    using T = typename Rows::value_type;
    const Panels<T> panels = pack<Rows>(centers, step.order, step.n_slots, n_threads);
    // At first every row needs every panel: few rows at a time, so that they and their bounds stay in the cache. Later
    // few rows need a panel: many rows at a time, to fill its tiles.
    const Index chunk = step.first ? 48 : rows_per_chunk<T>(x.n_rows, x.n_columns, 4096 * 1024, 2016);
    const BoundedChunk<Isa, Rows, Bounds> work{x, centers, panels, step, state, bounds, chunk};
    Index n_changed = 0;
    parallel_for(
        ceil_div(x.n_rows, chunk), n_threads,
        [&] {
            return BoundedScratch<T>{Buffer<Search<T>>(chunk), Buffer<std::int32_t>(panels.n_panels * chunk),
                                     Buffer<Index>(panels.n_panels)};
        },
        [&](Index task, BoundedScratch<T>& scratch) {
            const Index changed = work.run(task * chunk, min_index(x.n_rows, (task + 1) * chunk), scratch);
            __atomic_fetch_add(&n_changed, changed, __ATOMIC_RELAXED);
        });
    return n_changed;
}

// Brings labels and bounds up to date with the centroids; returns how many labels changed.
template <class Isa, class Rows>
Index bounded_assign(const Rows& x, const Centers<typename Rows::value_type>& centers,
                     const BoundedStep<typename Rows::value_type>& step,
                     const BoundedState<typename Rows::value_type>& state, int n_threads) {
    using T = typename Rows::value_type;
    if (step.panels_per_group == 0)
        return bounded_assign_with<Isa>(x, centers, step, state, LaneBounds<Isa, T>{step, state}, n_threads);
    return bounded_assign_with<Isa>(x, centers, step, state, GroupBounds<Isa, T>{step, state}, n_threads);
}

}  // namespace
}  // namespace coterie
