// Exact assignment that skips distances by the triangle inequality.
//
// Every row keeps an upper bound on the distance to its own centroid and lower bounds on the distances to the
// others. Two ways to keep lower bounds, chosen by the type Bounds:
//   LaneBounds   one per centroid                    (Elkan 2003, in the simplified form of Newling & Fleuret 2016)
//   GroupBounds  one per group of whole panels       (Yinyang, Ding et al. 2015)
// Lower bounds are stored in 16 bits, rounded down, with the cumulative drift at the time of writing added, so that a
// moving centroid costs nothing: the bound in force is `stored - cumulative drift now`.
//
// Distances are computed a panel at a time, for all rows of a chunk that could not exclude it: pruning decides
// which panels, and the panel product runs at the speed of a matrix product. All bounds are widened by the error of a
// score, and centroids whose scores are that close are compared in float64: labels are those of `assign`.
#pragma once

#include "coterie/centers/assign.hpp"
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
    T length;                     // bounds are of centroids that are shortened to it, where rows have length 1
    BitsType<T> bias;             // of stored lower bounds
    bool by_bytes;                // whether panels are compared in bytes
    bool first;                   // no bounds yet: compute everything

    // What squares of rows are more with shortened centroids, and how far that is off.
    T added() const { return (1 - length) * (1 - length) / length; }
    T added_error() const { return 8 * epsilon<T>() * ((1 - length) / length + added()); }
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
    T best, best_error;    // score of the nearest so far, and how far it is off at most
    double nearest;        // its squared distance in float64, below 0 if not measured
    double measured_winner; // the same of a lane that is about to become the nearest
    std::int32_t best_id;  // -1: none yet
    std::int32_t own_id;   // -1: none; else the centroid that it came with
    bool own_visited;      // its panel is among those to compute
};

template <class T>
T distance_above(T square, T score, T error) {
    return square_root(square + score + error) * (1 + 4 * kUlp<T>);
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
    // Up to W rows have been compared with a panel: scores, W of each row, their errors, and the lowest of each that is
    // not about to become the row's best. p_in_group, group: where panel p is; only GroupBounds cares.
    void visit(const Search<T>* const* searches, Index n, Index p, const T* scores, const T* errors, const T*, Index,
               Index) const {
        for (Index r = 0; r < n; ++r, scores += W) {
            const Search<T>& s = *searches[r];
            const T* drift = step.cumulative_drift + p * W;
            T bounds[W];
            for (Index l = 0; l < W; ++l) bounds[l] = distance_below(s.square, scores[l], errors[r]) + drift[l];
            store_bounds<T, W>(bounds, step.bias, state.lower + s.row * state.n_bounds + p * W);
        }
    }
    void retire(const Search<T>& s) const {
        const Index slot = step.slots[s.best_id];
        const T bound = distance_below(s.square, s.best, s.best_error) + step.cumulative_drift[slot];
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

    template <class Use>
    void for_each_panel(Index row, T upper, Use use) const {
        const Index n_panels = step.n_slots / W;
        const Index size = step.panels_per_group;
        for_each_below<Isa>(&lower(row, 0), step.bias, step.cumulative_drift, state.n_bounds, upper, [&](Index g) {
            for (Index p = g * size; p < min_index(n_panels, (g + 1) * size); ++p) use(p);
        });
    }
    void visit(const Search<T>* const* searches, Index n, Index, const T*, const T* errors, const T* lowest,
               Index p_in_group, Index g) const {
        // All lanes are computed by one instruction; those beyond n belong to no row.
        T squares[W] = {}, bounds[W];
        StoredBound stored[W];
        for (Index r = 0; r < n; ++r) squares[r] = searches[r]->square;
        const T drift = step.cumulative_drift[g];
        for (Index r = 0; r < W; ++r) bounds[r] = distance_below(squares[r], lowest[r], errors[r]) + drift;
        store_bounds<T, W>(bounds, step.bias, stored);
        for (Index r = 0; r < n; ++r) {
            StoredBound& kept = lower(searches[r]->row, g);
            if (p_in_group == 0 || stored[r] < kept) kept = stored[r];
        }
    }
    void retire(const Search<T>& s) const {
        const Index g = group(step.slots[s.best_id] / W);
        const T bound = distance_below(s.square, s.best, s.best_error) + step.cumulative_drift[g];
        const StoredBound stored = store_bound(bound, step.bias);
        if (stored < lower(s.row, g)) lower(s.row, g) = stored;
    }
    void own(const Search<T>&) const {}
};

template <class T>
struct BoundedScratch {
    Buffer<Search<T>> searches;
    Buffer<std::int32_t> wanted;  // n_panels x chunk: searches that need the panel
    Buffer<Index> n_wanted;       // n_panels
    // Of the searches, where panels are compared in bytes.
    Buffer<std::int8_t> values;
    Buffer<QuantizedVector> rows;
    Buffer<float> relative;
};

// Panels of 16 centroids in bytes.
template <class Isa>
inline constexpr int kByteVectors = kLineBytes / Isa::kRegisterBytes;

template <class Isa, class Rows, class Bounds>
struct BoundedChunk {
    using T = typename Rows::value_type;
    static constexpr Index W = kLanes<T>;
    static constexpr bool kHasBytes = BytesOf<Isa>::kExists && __is_same(Rows, DenseRows<float>);
    const Rows& x;
    const ExactCenters<T>& exact;
    const Centers<T>& centers;
    const Panels<T>& panels;
    const ScoreError<T>& error;
    const ByteCenters<Isa, T, kByteVectors<Isa>>* bytes;  // nullptr: not in bytes
    const BoundedStep<T>& step;
    const BoundedState<T>& state;
    const Bounds& bounds;
    Index chunk;

    // Selects the panels that the row must be compared with. Returns false if its label cannot have changed.
    bool open(Index row, Search<T>& s, Index index, BoundedScratch<T>& scratch) const {
        const T square = s.square = state.squares[row] + step.added();
        s.row = row;
        s.error = error(x.n_terms(row), square_root(square)) + step.added_error();
        s.best = s.best_error = infinity<T>();
        s.best_id = s.own_id = -1;
        s.nearest = -1;
        s.own_visited = false;
        T upper = infinity<T>(), own = 0;
        if (!step.first) {
            const std::int32_t label = state.labels[row];
            upper = (state.upper[row] + step.drift[label]) * (1 + 2 * kUlp<T>);
            state.upper[row] = upper;
            const StoredBound* lower = state.lower + row * state.n_bounds;
            if (!any_below<Isa>(lower, step.bias, step.cumulative_drift, state.n_bounds, upper)) return false;
            s.own_id = label;
            own = centers.offsets[label] - 2 * dot<Isa>(x, row, centers.data + label * x.n_columns);
            const T tight = distance_above(square, own, s.error);
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
            s.best = own;
            s.best_error = s.error;
            s.best_id = s.own_id;
        }
        return found;
    }

    double measured(const Search<T>& s, std::int32_t id) const {
        return square_distance<Isa>(x, s.row, exact.centers + id * x.n_columns,
                                    exact.own_squares == nullptr ? 0 : exact.own_squares[id]);
    }

    T score_of(double measured, const Search<T>& s) const {
        return static_cast<T>(measured + static_cast<double>(step.added()) - static_cast<double>(s.square));
    }

    // Returns the lane that becomes the row's best, -1 if none does; where errors could decide, by float64, and then
    // the best has that distance. The lowest score may be that of the best.
    Index winner_of(Search<T>& s, const T* scores, T error, T lowest, const std::int32_t* ids) const {
        s.measured_winner = -1;
        const T limit = lowest + error < s.best + s.best_error ? lowest + error : s.best + s.best_error;
        // Empty slots have infinite scores; sums that overflow exclude nothing.
        T top = limit + error;
        // Without an error, of rows that are all at the shift: the lowest one is close all the same.
        if (!(top > lowest)) top = lowest + ((lowest < 0 ? -lowest : lowest) * epsilon<T>() + smallest_normal<T>());
        unsigned close = error < infinity<T>() && limit < infinity<T>() ? Isa::below(scores, top) : (1u << W) - 1;
        const int n_close = __builtin_popcount(close) + !(s.best - s.best_error > limit || s.best_id < 0);
        if (n_close == 1) return close == 0 ? -1 : __builtin_ctz(close);
        Index winner = -1;
        double nearest = infinity<double>();
        std::int32_t nearest_id = -1;
        if (s.best_id >= 0) {
            if (s.nearest < 0) s.nearest = measured(s, s.best_id);
            nearest = s.nearest;
            nearest_id = s.best_id;
            s.best = score_of(nearest, s);
            s.best_error = s.error;
        }
        for (; close != 0; close &= close - 1) {
            const int l = __builtin_ctz(close);
            if (ids[l] < 0) continue;
            const double square = measured(s, ids[l]);
            if (nearest_id < 0 || square < nearest || (square == nearest && ids[l] < nearest_id)) {
                winner = l;
                nearest = square;
                nearest_id = ids[l];
            }
        }
        if (winner >= 0) s.measured_winner = nearest;
        return winner;
    }

    // Takes in the scores of n <= W rows with panel p; W lines of them can be read.
    void visit(Search<T>* const* searches, Index n, Index p, const T* scores, const T* errors, Index p_in_group,
               Index group) const {
        const std::int32_t* ids = panels.panel_ids(p);
        alignas(64) T lowest[W];
        reinterpret_cast<const Square<Isa, T>*>(scores)->reduce_lines(lowest, Least<Isa>());
        Index won[W], lanes[W], n_won = 0;
        for (Index r = 0; r < n; ++r) {
            Search<T>& s = *searches[r];
            if (lowest[r] - errors[r] > s.best + s.best_error) continue;
            const Index lane = winner_of(s, scores + r * W, errors[r], lowest[r], ids);
            if (lane < 0) continue;
            won[n_won] = r;
            lanes[n_won++] = lane;
            lowest[r] = infinity<T>();
            for (Index l = 0; l < W; ++l)
                if (l != lane && scores[r * W + l] < lowest[r]) lowest[r] = scores[r * W + l];
        }
        bounds.visit(searches, n, p, scores, errors, lowest, p_in_group, group);
        for (Index i = 0; i < n_won; ++i) {
            Search<T>& s = *searches[won[i]];
            if (s.best_id >= 0) bounds.retire(s);
            s.best = scores[won[i] * W + lanes[i]];
            s.best_error = errors[won[i]];
            s.nearest = s.measured_winner;
            if (s.nearest >= 0) {
                s.best = score_of(s.nearest, s);
                s.best_error = s.error;
            }
            s.best_id = ids[lanes[i]];
        }
    }

    // Returns 1 if the label changed.
    Index close(const Search<T>& s) const {
        state.upper[s.row] = distance_above(s.square, s.best, s.best_error);
        bounds.own(s);
        if (s.best_id == s.own_id) return 0;
        state.labels[s.row] = s.best_id;
        return 1;
    }

    void quantize_searches(Index n_searches, BoundedScratch<T>& scratch) const {
        if constexpr (kHasBytes)
            for (Index i = 0; bytes != nullptr && i < n_searches; ++i)
                scratch.rows[i] =
                    quantize<Isa>(x.row(scratch.searches[i].row), bytes->shift.data(), x.n_columns, bytes->unit,
                                  scratch.relative.data(), scratch.values.data() + i * byte_width(x.n_columns));
    }

    // Scores of n searches with panel p, of which the kernel has the numbers, and their errors.
    void score_bytes(const std::int32_t* numbers, Search<T>* const* searches, Index n, Index p, BoundedScratch<T>& scratch,
                     T* scores, T* errors) const {
        if constexpr (kHasBytes) {
            const T scale = 1 / (bytes->unit * bytes->unit);
            const ListedByteRows rows{scratch.values.data(), scratch.rows.data(), numbers, scale, scores, errors};
            constexpr int kTile = BytesOf<Isa>::kRows * BytesOf<Isa>::kVectors / kByteVectors<Isa>;
            byte_tiles<Isa, kTile, kByteVectors<Isa>>(rows, 0, n, bytes->panels, p);
            // The shift of the bytes is rounded, and so is the square of the row.
            for (Index r = 0; r < n; ++r) {
                const T length = square_root(searches[r]->square) + kUlp<T> * error.shift_norm;
                errors[r] = errors[r] * scale + searches[r]->error + 4 * kUlp<T> * error.shift_norm * length;
            }
        }
    }

    // Returns the number of rows from first to end - 1 whose labels changed.
    Index run(Index first, Index end, BoundedScratch<T>& scratch) const {
        scratch.n_wanted.fill(0);
        Index n_searches = 0, n_changed = 0;
        for (Index row = first; row < end; ++row)
            if (open(row, scratch.searches[n_searches], n_searches, scratch)) ++n_searches;
        constexpr Index kBatch = kBatchRows<T>;
        alignas(64) T scores[kBatch * W] = {};
        T errors[kBatch];
        Index rows[kBatch];
        Search<T>* searches[kBatch];
        quantize_searches(n_searches, scratch);
        for (Index p = 0; p < panels.n_panels; ++p) {
            const std::int32_t* wanted = scratch.wanted.data() + p * chunk;
            const Index per_group = max_index(step.panels_per_group, 1);
            const Index group = p / per_group, p_in_group = p % per_group;
            for (Index at = 0; at < scratch.n_wanted[p]; at += kBatch) {
                const Index n = min_index(kBatch, scratch.n_wanted[p] - at);
                for (Index r = 0; r < n; ++r) {
                    searches[r] = &scratch.searches[wanted[at + r]];
                    rows[r] = searches[r]->row;
                    errors[r] = searches[r]->error;
                }
                if (bytes == nullptr)
                    score_slab<Isa>(x, rows, n, panels, p, p + 1, 0, scores);
                else score_bytes(wanted + at, searches, n, p, scratch, scores, errors);
                for (Index r = 0; r < n; r += W)
                    visit(searches + r, min_index(W, n - r), p, scores + r * W, errors + r, p_in_group, group);
            }
        }
        for (Index i = 0; i < n_searches; ++i) n_changed += close(scratch.searches[i]);
        return n_changed;
    }
};

template <class Isa, class Rows, class Bounds>
Index bounded_assign_with(const Rows& x, const ExactCenters<typename Rows::value_type>& exact,
                          const BoundedStep<typename Rows::value_type>& step,
                          const BoundedState<typename Rows::value_type>& state, const Bounds& bounds, int n_threads) {
    using T = typename Rows::value_type;
    using Chunk = BoundedChunk<Isa, Rows, Bounds>;
    const Panels<T> panels = pack<Rows>(exact.scored, step.order, step.n_slots, n_threads);
    const ScoreError<T> error(exact);
    // At first every row needs every panel: few rows at a time, so that they and their bounds stay in the cache. Later
    // few rows need a panel: many rows at a time, to fill its tiles.
    const Index chunk = step.first ? 48 : rows_per_chunk<T>(x.n_rows, x.n_columns, 4096 * 1024, 2016);
    const auto run = [&](const ByteCenters<Isa, T, kByteVectors<Isa>>* bytes) {
        const Chunk work{x, exact, exact.scored, panels, error, bytes, step, state, bounds, chunk};
        const Index n_bytes = bytes == nullptr ? 0 : byte_width(x.n_columns);
        Index n_changed = 0;
        parallel_for(
            ceil_div(x.n_rows, chunk), n_threads,
            [&] {
                return BoundedScratch<T>{Buffer<Search<T>>(chunk),           Buffer<std::int32_t>(panels.n_panels * chunk),
                                         Buffer<Index>(panels.n_panels),     Buffer<std::int8_t>(chunk * n_bytes),
                                         Buffer<QuantizedVector>(chunk),     Buffer<float>(n_bytes)};
            },
            [&](Index task, BoundedScratch<T>& scratch) {
                const Index changed = work.run(task * chunk, min_index(x.n_rows, (task + 1) * chunk), scratch);
                __atomic_fetch_add(&n_changed, changed, __ATOMIC_RELAXED);
            });
        return n_changed;
    };
    if constexpr (Chunk::kHasBytes) {
        // Panels of 16 centroids take more time beside the products than those of `assign`.
        constexpr Index kLeastColumns = 512;
        if (step.by_bytes && x.n_columns >= kLeastColumns && x.n_columns <= kMostByteColumns) {
            const ByteCenters<Isa, T, kByteVectors<Isa>> bytes(exact, step.order, step.n_slots, n_threads);
            if (bytes.unit > 0) return run(&bytes);
        }
    }
    return run(nullptr);
}

// Brings labels and bounds up to date with the centroids; returns how many labels changed.
template <class Isa, class Rows>
Index bounded_assign(const Rows& x, const ExactCenters<typename Rows::value_type>& exact,
                     const BoundedStep<typename Rows::value_type>& step,
                     const BoundedState<typename Rows::value_type>& state, int n_threads) {
    using T = typename Rows::value_type;
    if (step.panels_per_group == 0)
        return bounded_assign_with<Isa>(x, exact, step, state, LaneBounds<Isa, T>{step, state}, n_threads);
    return bounded_assign_with<Isa>(x, exact, step, state, GroupBounds<Isa, T>{step, state}, n_threads);
}

}  // namespace
}  // namespace coterie
