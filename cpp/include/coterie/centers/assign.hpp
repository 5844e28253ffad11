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

// With fewer columns the rows of a batch share the length of the longest one.
template <class T>
inline constexpr Index kShortRow = 2 * kLanes<T>;

// How far the scores of rows are off, at most. The errors of a sum of products are at most as many units of the lengths as
// there are terms (Higham 2002, section 3.1), doubled for machines without fused multiply-add; then there are those of
// relative centers, of offsets and of the last sum, those of the decision, and those of the bound itself.
template <class T>
struct ScoreError {
    static constexpr T kUp = 1 + 8 * epsilon<T>();
    T constant, linear, per_term, rounding, shift_norm;
    Buffer<T> shift;  // n_columns, as often as there are rows in a batch where rows are short

    explicit ScoreError(const ExactCenters<T>& c)
        : shift(c.scored.n_columns * (c.scored.n_columns < kShortRow<T> ? kBatchRows<T> : 1)) {
        const Index d = c.scored.n_columns;
        double most = 0, offset = 0, shift_square = 0;
        for (Index i = 0; i < c.scored.n_centers; ++i) {
            const double own = static_cast<double>(c.scored.offsets[i]);
            most = most < c.squares[i] ? c.squares[i] : most;
            offset = offset < own ? own : offset < -own ? -own : offset;
        }
        for (Index j = 0; j < d; ++j) shift_square += c.shift[j] * c.shift[j];
        for (Index j = 0; j < shift.size(); ++j) shift[j] = static_cast<T>(c.shift[j % d]);
        constexpr double unit = static_cast<double>(epsilon<T>()) / 2;
        const double length = square_root(most), exact = static_cast<double>(exact_rounding(d));
        const auto above = [](double value) { return (static_cast<T>(value) + smallest_normal<T>()) * kUp; };
        shift_norm = above(square_root(shift_square));
        rounding = above(exact);
        per_term = above(4 * unit * length);
        linear = above(48 * unit * length);
        constant = above(8 * unit * (offset + most) + exact * (most + length * square_root(shift_square)));
    }
    // Of a row with so many terms and distance from the shift.
    T operator()(Index n_terms, T distance) const {
        const T length = (distance + 4 * epsilon<T>() * shift_norm) * kUp;
        return ((linear + static_cast<T>(n_terms) * per_term) * (length + shift_norm) + constant + rounding * length * length) *
               kUp;
    }
};

// The largest absolute difference of n numbers.
template <class Isa, class T>
T greatest_difference(const T* a, const T* b, Index n) {
    using V = typename Isa::template Vector<T>;
    using Loaded = typename Isa::template UnalignedVector<T>;
    constexpr Index L = sizeof(V) / sizeof(T);
    constexpr Index kChains = 4;
    V most[kChains] = {};
    T rest = 0;
    Index j = 0;
    const auto raise = [&](Index u) {
        const V y = *reinterpret_cast<const Loaded*>(a + j + u * L) - *reinterpret_cast<const Loaded*>(b + j + u * L);
        most[u] = Isa::greatest(most[u], Isa::greatest(y, -y));
    };
    for (; j + kChains * L <= n; j += kChains * L)
#pragma GCC unroll 4
        for (Index u = 0; u < kChains; ++u) raise(u);
    for (; j + L <= n; j += L) raise(0);
#pragma GCC unroll 4
    for (Index u = 1; u < kChains; ++u) most[0] = Isa::greatest(most[0], most[u]);
    for (; j < n; ++j) {
        const T y = a[j] < b[j] ? b[j] - a[j] : a[j] - b[j];
        rest = rest < y ? y : rest;
    }
    const T found = reduce_lanes<L, 1>(most, Greatest<Isa>{})[0];
    return rest < found ? found : rest;
}

// At least the squares |x - m|^2 of n rows from `first` on, in at least kLanes columns: the last ones may count twice.
// OUT squares (aligned, as many as whole cache lines hold).
template <class Isa, class T>
void squares_from_shift(const DenseRows<T>& x, Index first, Index n, const T* shift, T* squares) {
    using Lines = Square<Isa, T>;
    using Loaded = typename Isa::template UnalignedVector<T>;
    constexpr Index W = kLanes<T>, L = sizeof(Loaded) / sizeof(T);
    const T up = 1 + static_cast<T>(x.n_columns + 8) * epsilon<T>();
    const T least = static_cast<T>(x.n_columns + W) * smallest_normal<T>();
    constexpr Index kRows = 4, kVectors = Lines::kVectors;
    for (Index r = 0; r < n; r += W) {
        Lines sums;
        for (Index i = 0; i < W; i += kRows) {
            const T* rows[kRows];
            typename Lines::V own[kRows][kVectors] = {};
            for (Index u = 0; u < kRows; ++u) rows[u] = x.row(first + min_index(r + i + u, n - 1));
            const auto add = [&](Index j) {
#pragma GCC unroll 4
                for (Index v = 0; v < kVectors; ++v) {
                    const typename Lines::V at = *reinterpret_cast<const Loaded*>(shift + j + v * L);
#pragma GCC unroll 4
                    for (Index u = 0; u < kRows; ++u) {
                        const typename Lines::V y = at - *reinterpret_cast<const Loaded*>(rows[u] + j + v * L);
                        own[u][v] += y * y;
                    }
                }
            };
            Index j = 0;
            for (; j + W <= x.n_columns; j += W) add(j);
            if (j < x.n_columns) add(x.n_columns - W);
#pragma GCC unroll 4
            for (Index u = 0; u < kRows; ++u)
#pragma GCC unroll 4
                for (Index v = 0; v < kVectors; ++v) sums.lines[i + u][v] = own[u][v];
        }
        sums.reduce_lines(squares + r, Sum());
        for (Index i = 0; i < W; i += L) {
            typename Lines::V* const found = reinterpret_cast<typename Lines::V*>(squares + r + i);
            *found = (*found + least) * up;
        }
    }
}

// Errors of the scores of n rows from `first` on, of kBatchRows numbers. In few columns the largest coordinate of these rows tells enough.
template <class Isa, class T>
void score_errors(const DenseRows<T>& x, const ScoreError<T>& error, Index first, Index n, T* errors) {
    const Index d = x.n_columns;
    if (d >= kShortRow<T>) {
        squares_from_shift<Isa>(x, first, n, error.shift.data(), errors);
        for (Index r = 0; r < kBatchRows<T>; ++r) errors[r] = error(d, square_root(errors[r]));
        return;
    }
    T most = 0;
    const bool adjacent = x.selection == nullptr;
    for (Index r = 0; r < (adjacent ? 1 : n); ++r) {
        const T found = greatest_difference<Isa>(x.row(first + r), error.shift.data(), adjacent ? n * d : d);
        most = most < found ? found : most;
    }
    const T common = error(d, square_root(static_cast<T>(d)) * most);
    for (Index r = 0; r < n; ++r) errors[r] = common;
}

template <class Isa, class T>
void score_errors(const CsrRows<T>& x, const ScoreError<T>& error, Index first, Index n, T* errors) {
    for (Index r = 0; r < n; ++r) {
        const Index begin = x.begin(first + r), end = x.end(first + r);
        T square = smallest_normal<T>();
        for (Index e = begin; e < end; ++e) square += x.values[e] * x.values[e] + smallest_normal<T>();
        errors[r] = error(end - begin, square_root(square) * (1 + static_cast<T>(end - begin + 8) * epsilon<T>()));
    }
}

template <class T>
struct ScoreScratch {
    Buffer<Survivors<T>> lists;
    Buffer<T> errors, scores;
};

// Labels of rows begin .. end - 1 by scores of T. Rows whose error is not finite are compared with all centers.
template <class Isa, class Rows, class T = typename Rows::value_type>
struct ScoredRows {
    static constexpr Index W = kLanes<T>, kRows = kBatchRows<T>, kApart = kRows * W;
    // Panels whose scores of a batch stay in the nearest cache.
    static constexpr Index kPanels = 128 / W;
    const ExactSearch<Isa, Rows>& search;
    const Panels<T>& panels;
    const ScoreError<T>& error;
    const T* known;  // see `assign`

    static ScoreScratch<T> scratch(Index chunk) {
        ScoreScratch<T> out{Buffer<Survivors<T>>(chunk), Buffer<T>(chunk + kRows), Buffer<T>(kPanels * kApart)};
        out.scores.fill(0);
        return out;
    }

    // The least score of each row of a batch.
    static void least_scores(const T* scores, Index n_panels, T* least) {
        using Lines = Square<Isa, T>;
        constexpr Index V = Lines::kVectors;
        for (Index first = 0; first < kRows; first += W) {
            Lines lowest;
            for (Index r = 0; r < W; ++r)
#pragma GCC unroll 4
                for (Index v = 0; v < V; ++v) {
                    const auto* const own = reinterpret_cast<const typename Lines::V*>(scores + (first + r) * W) + v;
                    typename Lines::V found = *own;
                    for (Index p = 1; p < n_panels; ++p) found = Isa::least(own[p * kApart / W * V], found);
                    lowest.lines[r][v] = found;
                }
            lowest.reduce_lines(least + first, Least<Isa>{});
        }
    }

    // Labels of a batch by the scores with all panels.
    Index choose(Index first, Index n, const T* scores, const T* least, const T* errors, Survivors<T>& s,
                 const Assigned& out) const {
        constexpr Index kAtOnce = 64 / W;
        const Index n_panels = panels.n_panels;
        const std::int32_t* const ids = panels.ids.data();
        std::int32_t* const labels = out.labels + first;
        const bool is_measured = out.squares != nullptr;
        alignas(64) T limits[kRows];
        Index open[kRows], n_open = 0;
        for (Index r = 0; r < kRows; ++r)
            limits[r] = errors[r] < infinity<T>() ? (least[r] + errors[r]) + errors[r] : -infinity<T>();
        for (Index r = 0; r < (n_panels == 1 ? n : 0); ++r) {
            const unsigned below = Isa::below(scores + r * W, limits[r]);
            labels[r] = ids[__builtin_ctz(below | 1u << (W - 1))];
            open[n_open] = r;
            n_open += static_cast<Index>((below & (below - 1)) != 0 || below == 0 || is_measured);
        }
        for (Index r = 0; r < (n_panels == 1 ? 0 : n); ++r) {
            const T limit = limits[r];
            const T* own = scores + r * W;
            Index n_found = 0, slot = 0;
            for (Index p = 0; p < n_panels; p += kAtOnce) {
                std::uint64_t below = 0;
                const Index n_beside = min_index(n_panels - p, kAtOnce);
                for (Index q = 0; q < n_beside; ++q, own += kApart)
                    below |= static_cast<std::uint64_t>(Isa::below(own, limit)) << (q * W);
                n_found += __builtin_popcountll(below);
                slot = below == 0 ? slot : p * W + __builtin_ctzll(below);
            }
            labels[r] = ids[slot];
            open[n_open] = r;
            n_open += static_cast<Index>(n_found != 1 || is_measured);
        }
        Index n_survivors = n - n_open;
        for (Index i = 0; i < n_open; ++i) {
            const Index r = open[i];
            begin_search(s);
            s.bound = least[r] + errors[r];
            for (Index p = 0; p < (errors[r] < infinity<T>() ? n_panels : 0); ++p)
                search.offer(first + r, scores + p * kApart + r * W, panels.panel_ids(p), errors[r], s);
            n_survivors += search.decide(first + r, s, out);
        }
        return n_survivors;
    }

    void assign(Index begin, Index end, ScoreScratch<T>& scratch, const Assigned& out) const {
        constexpr Index kSlabBytes = 512 * 1024;
        const Rows& x = search.x;
        const Index beside_bytes = panels.stride() * static_cast<Index>(sizeof(T)) * x.n_columns;
        const Index slab = max_index(1, kSlabBytes / max_index(1, beside_bytes)) * panels.n_beside;
        const Index step = kPanels / panels.n_beside * panels.n_beside;
        const bool at_once = panels.n_panels <= min_index(slab, step);
        Index which[kRows], n_survivors = 0;
        alignas(64) T least[kRows];
        T* const scores = scratch.scores.data();
        for (Index p = 0; p < panels.n_panels; p += slab)
            for (Index first = begin; first < end; first += kRows) {
                const Index n = min_index(kRows, end - first), past = min_index(panels.n_panels, p + slab);
                Survivors<T>* const lists = scratch.lists.data() + first - begin;
                T* const errors = scratch.errors.data() + first - begin;
                if (p == 0 && known == nullptr) score_errors<Isa>(x, error, first, n, errors);
                for (Index r = 0; r < (p == 0 && known != nullptr ? n : 0); ++r)
                    errors[r] = error(x.n_terms(first + r), square_root(known[first + r]));
                if (x.selection != nullptr)
                    for (Index r = 0; r < n; ++r) prefetch_row(x, min_index(first + kRows + r, x.n_rows - 1));
                for (Index r = 0; r < n; ++r) which[r] = first + r;
                for (Index q = p; q < past; q += step) {
                    const Index n_panels = min_index(step, past - q);
                    score_slab<Isa>(x, which, n, panels, q, q + n_panels, kApart, scores);
                    least_scores(scores, n_panels, least);
                    if (at_once) n_survivors += choose(first, n, scores, least, errors, lists[0], out);
                    for (Index r = 0; r < (at_once ? 0 : n); ++r) {
                        Survivors<T>& s = lists[r];
                        if (q == 0) begin_search(s);
                        if (least[r] + errors[r] < s.bound) s.bound = least[r] + errors[r];
                        if (!(least[r] < s.bound + errors[r])) continue;
                        for (Index b = 0; b < n_panels; ++b)
                            search.offer(first + r, scores + b * kApart + r * W, panels.panel_ids(q + b), errors[r], s);
                    }
                }
            }
        for (Index i = begin; i < (at_once ? begin : end); ++i) {
            Survivors<T>& s = scratch.lists[i - begin];
            if (!(scratch.errors[i - begin] < infinity<T>())) begin_search(s);
            n_survivors += search.decide(i, s, out);
        }
        __atomic_fetch_add(out.n_survivors, n_survivors, __ATOMIC_RELAXED);
    }
};

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
                      const typename Rows::value_type* known, const Assigned& out, int n_threads) {
    using T = typename Rows::value_type;
    const Panels<T> panels = pack<Rows>(search.centers.scored, search.centers.order, search.centers.scored.n_centers, n_threads);
    const ScoreError<T> error(search.centers);
    const ScoredRows<Isa, Rows> rows{search, panels, error, known};
    parallel_for(
        ceil_div(search.x.n_rows, chunk), n_threads, [&] { return rows.scratch(chunk); },
        [&](Index task, ScoreScratch<T>& scratch) {
            if (is_open == nullptr || (*is_open)[task])
                rows.assign(task * chunk, min_index(search.x.n_rows, (task + 1) * chunk), scratch, out);
        });
}

// Centers in bytes, in panels of C vectors; order: see pack_bytes. `unit` is 0 if they overflow.
template <class Isa, class T, int C>
struct ByteCenters {
    Buffer<T> shift;
    T unit;
    BytePanels<Isa, C> panels;

    ByteCenters(const ExactCenters<T>& c, const std::int32_t* order, Index n_slots, int n_threads)
        : shift(rounded_shift(c)),
          unit(unit_of(c.centers, shift.data(), c.scored.n_centers, c.scored.n_columns)),
          panels(pack_bytes<Isa, C>(
              quantize_rows<Isa, T>({c.centers, c.scored.n_centers, c.scored.n_columns, nullptr}, shift.data(), unit, n_threads),
              order, n_slots, c.scored.n_columns, n_threads)) {}

    static Buffer<T> rounded_shift(const ExactCenters<T>& centers) {
        Buffer<T> out(centers.scored.n_columns);
        for (Index j = 0; j < out.size(); ++j) out[j] = static_cast<T>(centers.shift[j]);
        return out;
    }
};

// By bytes, but for the tasks in which too many centers are left; after some of these no more are tried.
template <class Isa, class T, int C>
void assign_by_bytes(const ExactSearch<Isa, DenseRows<T>>& search, const ByteCenters<Isa, T, C>& bytes,
                     const Assigned& out, int n_threads) {
    constexpr Index kSlots = BytePanels<Isa, C>::kSlots, kMostSlots = 2048, kScores = 48 * 1024;
    constexpr Index kLines = Isa::kRegisterBytes / 4;
    const DenseRows<T>& x = search.x;
    const Index d = x.n_columns, slab = min_index(bytes.panels.n_panels, kMostSlots / kSlots);
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
            is_open[task] = !pays || !assign_by_bytes(search, bytes.panels, bytes.shift.data(), bytes.unit, slab, task * chunk,
                                                      min_index(x.n_rows, (task + 1) * chunk), scratch, out);
            if (is_open[task]) __atomic_fetch_add(&n_open, 1, __ATOMIC_RELAXED);
        });
    if (n_open > 0) assign_by_scores<Isa>(search, chunk, &is_open, nullptr, out, n_threads);
}

// Whether bytes are faster than scores, or are asked for.
template <class Isa, class T>
bool takes_bytes(Index n_rows, const Centers<T>& centers, Filter filter) {
    constexpr Index kFewRows = 64;
    using Bytes = BytesOf<Isa>;
    const Index d = centers.n_columns, k = centers.n_centers, n_floats = d * k * static_cast<Index>(sizeof(T) / 4);
    const bool pays = d >= Bytes::kLeastColumns && k >= Bytes::kLeastCenters && n_floats >= Bytes::kLeastProducts &&
                      n_rows > kFewRows;
    return Bytes::kExists && d <= kMostByteColumns && (filter == Filter::automatic ? pays : filter == Filter::bytes);
}

// IN x, centers, known (squared distances of the rows to the shift, or nullptr); OUT out.
template <class Isa, class Rows>
void assign(const Rows& x, const ExactCenters<typename Rows::value_type>& centers, Filter filter,
            const typename Rows::value_type* known, const Assigned& out, int n_threads) {
    using T = typename Rows::value_type;
    const ExactSearch<Isa, Rows> search{x, centers};
    if constexpr (__is_same(Rows, DenseRows<T>) && BytesOf<Isa>::kExists)
        if (takes_bytes<Isa>(x.n_rows, centers.scored, filter)) {
            const ByteCenters<Isa, T, BytesOf<Isa>::kVectors> bytes(centers, centers.order, centers.scored.n_centers,
                                                                    n_threads);
            if (bytes.unit > 0) return assign_by_bytes(search, bytes, out, n_threads);
        }
    const Index chunk = rows_per_chunk<T>(x.n_rows, x.n_columns, 256 * 1024, 1536);
    assign_by_scores<Isa>(search, chunk, nullptr, known, out, n_threads);
}

}  // namespace
}  // namespace coterie
