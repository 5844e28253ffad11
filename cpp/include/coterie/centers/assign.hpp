// The nearest center of every row, exactly: a filter with certified bounds, then float64.
//
// The filter gives each center a score, |c - m|^2 - 2 (x - m) . (c - m) but for an error that is bounded. A center can be
// nearest only if the least score that it can have is at most the highest one that the best center can have. Of those
// that are left, one or two a row, that of the least squared distance is chosen, in float64 (square_distance), of equal
// ones the first. So labels are those of float64 for every filter: products of bytes (quantized.hpp), or of floats where
// rows are too short for bytes or too many centers are left.
#pragma once

#include "coterie/centers/own_distances.hpp"
#include "coterie/centers/quantized.hpp"
#include "coterie/centers/scores.hpp"
#include "coterie/centers/sorted_lists.hpp"

namespace coterie {

// IN. Centers for exact decisions; `order` lists them by their lengths, so that panels have those of similar lengths.
template <class T>
struct ExactCenters {
    Centers<T> scored;          // relative to the shift
    const T* centers;           // in the coordinates of the rows
    const double* squares;      // squared lengths of the relative ones
    const double* own_squares;  // of `centers`; sparse rows only
    const double* shift;        // n_columns
    const std::int32_t* order;  // n_centers
};

// OUT. squares may be nullptr. n_survivors: how many centers were compared in float64.
struct Assigned {
    std::int32_t* labels;
    double* squares;
    Index* n_survivors;
};

// Which filter: `automatic` takes the faster one, others are for tests.
enum class Filter { automatic, bytes, scores };

namespace {

// A center that may be the nearest, with the least score that it can have.
template <class T>
struct Candidate {
    T least;
    std::int32_t id;
};

// Those of one row, unless a list of them was full: then the nearest of these.
template <class T>
struct alignas(kLineBytes) Survivors {
    static constexpr std::int32_t kMost = 24;
    double nearest;      // squared distance of `label`
    T bound, lowest;     // the highest score that the best one can have; the least one in the list
    std::int32_t label;  // -1: the list was never full
    std::int32_t n, n_compared;
    Candidate<T> list[kMost];
};

template <class T>
void begin_search(Survivors<T>& s) {
    s.bound = s.lowest = infinity<T>();
    s.n = s.n_compared = 0;
    s.nearest = infinity<double>();
    s.label = -1;
}

template <class Isa, class Rows>
struct ExactSearch {
    using T = typename Rows::value_type;
    const Rows& x;
    const ExactCenters<T>& centers;

    template <class S>
    void compare(Index row, std::int32_t id, Survivors<S>& s) const {
        const double square = square_distance<Isa>(x, row, centers.centers + id * x.n_columns,
                                                   centers.own_squares == nullptr ? 0 : centers.own_squares[id]);
        ++s.n_compared;
        if (square < s.nearest || s.label < 0 || (square == s.nearest && id < s.label)) {
            s.nearest = square;
            s.label = id;
        }
    }

    // Takes all survivors out of the list.
    template <class S>
    void empty_list(Index row, Survivors<S>& s) const {
        for (std::int32_t i = 0; i < s.n; ++i)
            if (!(s.list[i].least > s.bound)) compare(row, s.list[i].id, s);
        s.n = 0;
    }

    // Takes the centers of a panel into the list that may be the nearest.
    template <class S>
    void offer(Index row, const S* scores, const std::int32_t* ids, S error, Survivors<S>& s) const {
        if (s.bound < s.lowest) s.n = 0;
        for (unsigned below = Isa::below(scores, s.bound + error); below != 0; below &= below - 1) {
            const int lane = __builtin_ctz(below);
            if (s.n == Survivors<S>::kMost) empty_list(row, s);
            const S least = scores[lane] - error;
            s.list[s.n++] = {least, ids[lane]};
            s.lowest = s.n == 1 || least < s.lowest ? least : s.lowest;
        }
    }

    template <class S>
    void compare_all(Index row, Survivors<S>& s) const {
        for (Index c = 0; c < centers.scored.n_centers; ++c) compare(row, static_cast<std::int32_t>(c), s);
    }

    // Writes the label; returns how many centers it was chosen of.
    template <class S>
    Index decide(Index row, Survivors<S>& s, const Assigned& out) const {
        if (s.n > 1) {
            std::int32_t last = 0;
            for (std::int32_t i = 0; i < s.n; ++i)
                if (!(s.list[i].least > s.bound)) s.list[last++] = s.list[i];
            s.n = last;
        }
        if (s.n == 1 && s.label < 0 && out.squares == nullptr) {
            s.label = s.list[0].id;
            ++s.n_compared;
        } else {
            empty_list(row, s);
        }
        if (s.label < 0) compare_all(row, s);
        out.labels[row] = s.label;
        if (out.squares != nullptr) out.squares[row] = s.nearest;
        return s.n_compared;
    }
};

// How far a score of panels of T is off, at most: error(n_terms, |x - m|^2). The errors of a sum of products are at most
// n_terms units of the lengths (Higham 2002, section 3.1), doubled for machines without fused multiply-add; then there
// are those of relative centers, of offsets and of the last sum, and those of the decision.
template <class T>
struct ScoreError {
    double linear, per_term, constant, shift, rounding;

    ScoreError(const ExactCenters<T>& c) : linear(0), constant(0), shift(0) {
        double most = 0, offset = 0;
        for (Index i = 0; i < c.scored.n_centers; ++i) {
            const double own = static_cast<double>(c.scored.offsets[i]);
            most = most < c.squares[i] ? c.squares[i] : most;
            offset = offset < own ? own : offset < -own ? -own : offset;
        }
        for (Index j = 0; j < c.scored.n_columns; ++j) shift += c.shift[j] * c.shift[j];
        shift = square_root(shift) * (1 + 1e-9);
        constexpr double unit = static_cast<double>(epsilon<T>()) / 2;
        const double length = square_root(most);
        rounding = static_cast<double>(exact_rounding(c.scored.n_columns));
        per_term = 4 * unit * length;
        linear = 48 * unit * length;
        constant = 8 * unit * offset + 8 * unit * most + rounding * (most + length * shift) +
                   static_cast<double>(smallest_normal<T>());
    }
    T operator()(Index n_terms, double square) const {
        const double length = square_root(square) * (1 + 1e-9) + shift;
        const double error = (linear + static_cast<double>(n_terms) * per_term) * length + constant + rounding * square;
        return static_cast<T>(error) * (1 + 4 * epsilon<T>());
    }
};

template <class T>
Index n_terms(const DenseRows<T>& x, Index) { return x.n_columns; }
template <class T>
Index n_terms(const CsrRows<T>& x, Index i) { return x.end(i) - x.begin(i); }

// Labels of rows begin .. end - 1 by scores of T.
template <class Isa, class Rows, class T = typename Rows::value_type>
void assign_by_scores(const ExactSearch<Isa, Rows>& search, const Panels<T>& panels, const ScoreError<T>& error_of,
                      double square_of_shift, Index begin, Index end, Buffer<Survivors<T>>& lists, Buffer<T>& errors,
                      const Assigned& out) {
    constexpr Index W = kLanes<T>, H = Isa::kTileHeight, kSlabBytes = 512 * 1024;
    const Rows& x = search.x;
    const Index beside_bytes = panels.n_beside * W * static_cast<Index>(sizeof(T)) * x.n_columns;
    const Index slab = max_index(1, kSlabBytes / max_index(1, beside_bytes)) * panels.n_beside;
    for (Index i = begin; i < end; ++i) {
        begin_search(lists[i - begin]);
        const double square = square_distance<Isa>(x, i, search.centers.shift, square_of_shift);
        errors[i - begin] = error_of(n_terms(x, i), square);
    }
    Index which[H];
    for (Index p = 0; p < panels.n_panels; p += slab)
        for (Index first = begin; first < end; first += H) {
            const Index n = min_index(H, end - first);
            for (Index r = 0; r < n; ++r) which[r] = first + r;
            const auto take = [&](Index q, const T* tile) {
                for (Index r = 0; r < n; ++r) {
                    Survivors<T>& s = lists[first + r - begin];
                    const T error = errors[first + r - begin], *scores = tile + r * W;
                    if (Isa::below(scores, s.bound + error) == 0) continue;
                    const T bound = least_lane<Isa>(scores, infinity<T>()) + error;
                    if (bound < s.bound) s.bound = bound;
                    search.offer(first + r, scores, panels.panel_ids(q), error, s);
                }
            };
            score_panels<Isa>(x, which, n, panels, p, min_index(panels.n_panels, p + slab), take);
        }
    Index n_survivors = 0;
    for (Index i = begin; i < end; ++i) {
        Survivors<T>& s = lists[i - begin];
        if (!(errors[i - begin] < infinity<T>())) begin_search(s);
        n_survivors += search.decide(i, s, out);
    }
    __atomic_fetch_add(out.n_survivors, n_survivors, __ATOMIC_RELAXED);
}

struct ByteScratch {
    Buffer<std::int8_t> values;
    Buffer<float> relative, scores, least, errors, bounds;
    Buffer<QuantizedVector> rows;
    Buffer<Survivors<float>> lists;
};

// The same by products of bytes, in slabs of panels whose scores stay in the cache. Returns false, without labels, if too
// many centers are left.
template <class Isa, class T, int C>
bool assign_by_bytes(const ExactSearch<Isa, DenseRows<T>>& search, const BytePanels<Isa, C>& panels, const T* shift,
                     T unit, Index slab, Index begin, Index end, ByteScratch& scratch, const Assigned& out) {
    constexpr Index kSlots = BytePanels<Isa, C>::kSlots, W = kLanes<float>, L = Isa::kRegisterBytes / 4;
    using V = typename Isa::template Vector<float>;
    const DenseRows<T>& x = search.x;
    const Index n = end - begin, width = byte_width(x.n_columns);
    for (Index i = 0; i < n; ++i) {
        scratch.rows[i] = quantize<Isa>(x.row(begin + i), shift, x.n_columns, unit, scratch.relative.data(),
                                        scratch.values.data() + i * width);
        begin_search(scratch.lists[i]);
    }
    scratch.bounds.fill(infinity<float>());
    for (Index first = 0; first < panels.n_panels; first += slab) {
        const Index n_panels = min_index(slab, panels.n_panels - first);
        const ByteRows rows{scratch.values.data(), scratch.rows.data(),  first, n_panels, scratch.scores.data(),
                            scratch.least.data(),  scratch.errors.data(), scratch.bounds.data()};
        for (Index p = first; p < first + n_panels; ++p) byte_tiles<Isa, BytesOf<Isa>::kRows, C>(rows, 0, n, panels, p);
        for (Index i = 0; i < n; ++i) {
            Survivors<float>& s = scratch.lists[i];
            const V* const bounds = reinterpret_cast<const V*>(scratch.bounds.data() + i * L);
            s.bound = reduce_lanes<L, 1>(bounds, Least<Isa>{})[0];
            for (Index p = 0; p < n_panels; ++p) {
                const Index line = i * n_panels + p;
                const float error = scratch.errors[line];
                const V limit = V{} + (s.bound + error);
                if (!Isa::any_below(*reinterpret_cast<const V*>(scratch.least.data() + line * L), limit)) continue;
                for (Index at = 0; at < kSlots; at += W)
                    search.offer(begin + i, scratch.scores.data() + line * kSlots + at,
                                 panels.ids.data() + (first + p) * kSlots + at, error, s);
            }
        }
    }
    Index n_listed = 0, n_survivors = 0;
    for (Index i = 0; i < n; ++i) n_listed += scratch.lists[i].n + scratch.lists[i].n_compared;
    if (n_listed > n * (2 + search.centers.scored.n_centers / 16)) return false;
    for (Index i = 0; i < n; ++i) {
        if (!(scratch.rows[i].scale < infinity<float>())) begin_search(scratch.lists[i]);
        n_survivors += search.decide(begin + i, scratch.lists[i], out);
    }
    __atomic_fetch_add(out.n_survivors, n_survivors, __ATOMIC_RELAXED);
    return true;
}

// Labels of the rows of all tasks that `is_open` (all if nullptr), by scores.
template <class Isa, class Rows>
void assign_by_scores(const ExactSearch<Isa, Rows>& search, Index chunk, const Buffer<std::uint8_t>* is_open,
                      const Assigned& out, int n_threads) {
    using T = typename Rows::value_type;
    struct Scratch {
        Buffer<Survivors<T>> lists;
        Buffer<T> errors;
    };
    const ExactCenters<T>& centers = search.centers;
    const Panels<T> panels = pack<Rows>(centers.scored, centers.order, centers.scored.n_centers, n_threads);
    const ScoreError<T> error_of(centers);
    double square_of_shift = 0;
    for (Index j = 0; j < search.x.n_columns; ++j) square_of_shift += centers.shift[j] * centers.shift[j];
    parallel_for(
        ceil_div(search.x.n_rows, chunk), n_threads,
        [&] { return Scratch{Buffer<Survivors<T>>(chunk), Buffer<T>(chunk)}; },
        [&](Index task, Scratch& scratch) {
            if (is_open != nullptr && !(*is_open)[task]) return;
            assign_by_scores(search, panels, error_of, square_of_shift, task * chunk,
                             min_index(search.x.n_rows, (task + 1) * chunk), scratch.lists, scratch.errors, out);
        });
}

// By bytes, but for the tasks in which too many centers are left; after some of these no more are tried.
template <class Isa, class T>
bool assign_by_bytes(const ExactSearch<Isa, DenseRows<T>>& search, const Assigned& out, int n_threads) {
    constexpr int C = BytesOf<Isa>::kVectors;
    constexpr Index kSlots = BytePanels<Isa, C>::kSlots, kMostSlots = 2048, kScores = 48 * 1024;
    constexpr Index kLines = Isa::kRegisterBytes / 4;
    const DenseRows<T>& x = search.x;
    const ExactCenters<T>& centers = search.centers;
    const Index d = x.n_columns, k = centers.scored.n_centers;
    Buffer<T> shift(d);
    for (Index j = 0; j < d; ++j) shift[j] = static_cast<T>(centers.shift[j]);
    const T unit = unit_of(centers.centers, shift.data(), k, d);
    if (!(unit > 0)) return false;
    const BytePanels<Isa, C> panels = pack_bytes<Isa, C>(centers.centers, shift.data(), unit, centers.order, k, d, n_threads);
    const Index slab = min_index(panels.n_panels, kMostSlots / kSlots);
    const Index chunk = max_index(48, min_index(192, kScores / (slab * kSlots) / 48 * 48)), n_tasks = ceil_div(x.n_rows, chunk);
    const Index lines = chunk * slab;
    Buffer<std::uint8_t> is_open(n_tasks);
    Index n_tried = 0, n_open = 0;
    parallel_for(
        n_tasks, n_threads,
        [&] {
            return ByteScratch{Buffer<std::int8_t>(chunk * byte_width(d)), Buffer<float>(byte_width(d)),
                               Buffer<float>(lines * kSlots), Buffer<float>(lines * kLines), Buffer<float>(lines),
                               Buffer<float>(chunk * kLines), Buffer<QuantizedVector>(chunk),
                               Buffer<Survivors<float>>(chunk)};
        },
        [&](Index task, ByteScratch& scratch) {
            const Index tried = __atomic_fetch_add(&n_tried, 1, __ATOMIC_RELAXED);
            const bool pays = 2 * __atomic_load_n(&n_open, __ATOMIC_RELAXED) <= 4 + tried;
            is_open[task] = !pays || !assign_by_bytes(search, panels, shift.data(), unit, slab, task * chunk,
                                                      min_index(x.n_rows, (task + 1) * chunk), scratch, out);
            if (is_open[task]) __atomic_fetch_add(&n_open, 1, __ATOMIC_RELAXED);
        });
    if (n_open > 0) assign_by_scores(search, chunk, &is_open, out, n_threads);
    return true;
}

// IN x, centers; OUT out.
template <class Isa, class Rows>
void assign(const Rows& x, const ExactCenters<typename Rows::value_type>& centers, Filter filter, const Assigned& out,
            int n_threads) {
    const ExactSearch<Isa, Rows> search{x, centers};
    if constexpr (__is_same(Rows, DenseRows<typename Rows::value_type>) && BytesOf<Isa>::kExists) {
        constexpr Index kFewRows = 64;
        const bool pays = x.n_columns >= BytesOf<Isa>::kLeastColumns && x.n_rows > kFewRows &&
                          centers.scored.n_centers >= BytesOf<Isa>::kLeastCenters;
        if (x.n_columns <= kMostByteColumns && (filter == Filter::automatic ? pays : filter == Filter::bytes))
            if (assign_by_bytes(search, out, n_threads)) return;
    }
    const Index chunk = rows_per_chunk<typename Rows::value_type>(x.n_rows, x.n_columns, 256 * 1024, 1536);
    assign_by_scores(search, chunk, nullptr, out, n_threads);
}

}  // namespace
}  // namespace coterie
