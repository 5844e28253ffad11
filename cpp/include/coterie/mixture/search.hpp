// Truncated EM of Gaussian mixtures: each row keeps its few best components, and searches their neighbors for better
// ones (Hirschberger, Forster and Luecke 2022).
//
// The energy of a row with a component is minus the logarithm of their joint density, up to a constant: the distance
// to a scaled center.
#pragma once

#include "coterie/centers/differences_by_lanes.hpp"
#include "coterie/centers/sorted_lists.hpp"
#include "coterie/machine/buffer.hpp"
#include "coterie/machine/isa.hpp"
#include "coterie/machine/lanes.hpp"
#include "coterie/machine/parallel.hpp"
#include "coterie/machine/views.hpp"
#include "coterie/mixture/factors.hpp"
#include "coterie/mixture/groups.hpp"

namespace coterie {

template <class T>
struct TruncatedSearch {
    std::int32_t* candidates;   // IN/OUT n_rows x n_candidates: components of each row, the best one first
    T* energies;                // OUT the same shape, ascending
    Index n_candidates;
    std::int32_t* neighbors;    // IN/OUT n_components x n_neighbors: each begins with the component itself
    Index n_neighbors;
    const std::int32_t* extra;  // one more component to try for each row, or nullptr
    Index group_size;        // number of rows that share their candidates
    bool update_neighbors;
    bool regroup;               // learn neighbors from rows grouped by their new best components
};

namespace {

// Copies the n ids to `out` (which may be `ids`), each once, in the order in which they come; returns how many.
// Without branches, and without clearing: `places` has an entry for every number, with any content.
inline Index copy_distinct(const std::int32_t* ids, Index n, std::int32_t* places, std::int32_t* out) {
    for (Index i = n - 1; i >= 0; --i) places[ids[i]] = static_cast<std::int32_t>(i);
    Index n_distinct = 0;
    for (Index i = 0; i < n; ++i) {
        const std::int32_t id = ids[i];
        out[n_distinct] = id;
        n_distinct += places[id] == i;
    }
    return n_distinct;
}

// Components, each once.
struct ComponentList {
    ComponentList(Index most, Index n_components) : ids(most), places(n_components) {}

    void keep_distinct(Index n) { size = copy_distinct(ids.data(), n, places.data(), ids.data()); }

    Buffer<std::int32_t> ids;
    Buffer<std::int32_t> places;  // scratch
    Index size = 0;
};

// Gathers the candidates of a tile: neighbors of its rows' components, those of the best ones first.
template <class T>
void gather_candidates(const TruncatedSearch<T>& search, const Index* rows, Index n, ComponentList& met,
                       ComponentList& expanded) {
    const Index m = search.n_candidates, n_neighbors = search.n_neighbors;
    for (Index k = 0; k < m; ++k)
        for (Index r = 0; r < n; ++r) expanded.ids[k * n + r] = search.candidates[rows[r] * m + k];
    expanded.keep_distinct(n * m);
    std::int32_t* next = met.ids.data();
    for (Index i = 0; i < expanded.size; ++i) {
        const std::int32_t* const near = search.neighbors + expanded.ids[i] * n_neighbors;
        for (Index g = 0; g < n_neighbors; ++g) *next++ = near[g];
    }
    if (search.extra != nullptr)
        for (Index r = 0; r < n; ++r) *next++ = search.extra[rows[r]];
    met.keep_distinct(next - met.ids.data());
}

// The best components of the rows of a tile, one lane to a row: no branch depends on a single one.

// The few best components of each lane, sorted by energy, ties in the order of insertion.
template <class Isa, class T>
struct BestOfLanes {
    using V = typename Isa::template Vector<T>;
    using Ids = decltype(V{} < V{});  // integers as wide as T
    using Id = BitsType<T>;
    static constexpr Index kWidth = sizeof(V) / sizeof(T);

    explicit BestOfLanes(Index n_kept) : n_kept(n_kept), energies(n_kept * kWidth), ids(n_kept * kWidth) {}

    // Empty: an infinite energy belongs to no component.
    void clear() {
        energies.fill(infinity<T>());
        ids.fill(-1);
    }

    // Inserts one component in all lanes.
    void insert(V energy, Id of) {
        V* const kept = reinterpret_cast<V*>(energies.data());
        Ids* const kept_ids = reinterpret_cast<Ids*>(ids.data());
        Ids id = Ids{} + of;
        for (Index k = 0; k < n_kept; ++k) {
            const V other = kept[k];
            const Ids its = kept_ids[k], before = energy < other;
            kept[k] = before ? energy : other;
            kept_ids[k] = before ? id : its;
            energy = before ? other : energy;
            id = before ? its : id;
        }
    }

    // Replaces the candidates of the row of a lane. If there are too few components, the best one is repeated, without
    // a share.
    void write(Index lane, std::int32_t* kept, T* kept_energies) const {
        for (Index k = 0; k < n_kept; ++k) {
            const Id id = ids[k * kWidth + lane];
            kept[k] = id >= 0 ? static_cast<std::int32_t>(id) : kept[0];
            kept_energies[k] = energies[k * kWidth + lane];
        }
    }

    Index n_kept;
    Buffer<T> energies;
    Buffer<Id> ids;
};

// Distances become energies, with 0 in lanes without a row; sums[i] is that of line i over the rows. Lines fill squares,
// those beyond m are 0. least[i]: the least of lines i, i + kLanes, ...
template <class Isa, class T>
void energies_of_lanes(T* lines, Index n_rows, Index m, const T* precisions, const T* offsets, T* least, T* sums) {
    using V = typename Isa::template Vector<T>;
    using Tile = Square<Isa, T>;
    constexpr Index W = kLanes<T>, L = Tile::kWidth;
    alignas(64) T in_use[W];
    for (Index l = 0; l < W; ++l) in_use[l] = l < n_rows ? 1 : 0;
    for (Index i = 0; i < W * W; ++i) least[i] = infinity<T>();
    for (Index first = 0; first < m; first += W) {
        for (Index i = 0; i < W; ++i)
            for (Index l = 0; l < W; l += L) {
                V& line = *reinterpret_cast<V*>(lines + (first + i) * W + l);
                V& lowest = *reinterpret_cast<V*>(least + i * W + l);
                if (first + i >= m) {
                    line = V{};
                    continue;
                }
                const V energy = multiply_add(line, V{} + precisions[first + i], V{} + offsets[first + i]);
                line = *reinterpret_cast<const V*>(in_use + l) > 0 ? energy : V{};
                lowest = Isa::least(line, lowest);
            }
        alignas(64) T found[W];
        reinterpret_cast<const Tile*>(lines + first * W)->reduce_lines(found, Sum{});
        for (Index i = 0; i < W; ++i) sums[first + i] += found[i];
    }
}

// A bound of the n_kept best energies of each lane, slightly above the n_kept-th of the least ones, so that few others
// are below it.
template <class Isa, class T>
typename Isa::template Vector<T> bound_of_best(const T* least, Index n_kept, T* scratch) {
    using V = typename Isa::template Vector<T>;
    V* const best = reinterpret_cast<V*>(scratch);
    if (n_kept > kLanes<T>) return V{} + infinity<T>();
    for (Index k = 0; k < n_kept; ++k) best[k] = V{} + infinity<T>();
    for (Index i = 0; i < kLanes<T>; ++i) {
        V energy = *reinterpret_cast<const V*>(least + i * kLanes<T>);
        for (Index k = 0; k < n_kept; ++k) {
            const V other = best[k];
            best[k] = Isa::least(energy, other);
            energy = Isa::greatest(energy, other);
        }
    }
    const V last = best[n_kept - 1];
    return last + ((last < 0 ? -last : last) * epsilon<T>() + smallest_normal<T>());
}

// The best components of n rows by the lines of their energies; ids[i] is the component of line i. For row r calls
// take(r, best, lane). The lines to insert are determined first: a branch would wait for earlier insertions.
// `chosen` is scratch (m).
template <class Isa, class T, class Take>
void best_of_lanes(const T* lines, Index n, const std::int32_t* ids, Index m, const T* least,
                   BestOfLanes<Isa, T>& best, std::int32_t* chosen, Take take) {
    using V = typename Isa::template Vector<T>;
    constexpr Index W = kLanes<T>, L = sizeof(V) / sizeof(T);
    for (Index first = 0; first < n; first += L) {
        const V bound = bound_of_best<Isa, T>(least + first, best.n_kept, best.energies.data());
        const auto line = [=](Index i) { return *reinterpret_cast<const V*>(lines + i * W + first); };
        Index n_chosen = 0;
        for (Index i = 0; i < m; ++i) {
            chosen[n_chosen] = static_cast<std::int32_t>(i);
            n_chosen += Isa::any_below(line(i), bound);
        }
        best.clear();
        for (Index e = 0; e < n_chosen; ++e) best.insert(line(chosen[e]), ids[chosen[e]]);
        for (Index r = first; r < min_index(n, first + L); ++r) take(r, best, r - first);
    }
}

// Neighbors of components, learned from the rows that share a best component.

// Statistics of a component over some rows.
struct Finding {
    double sum;  // of the energies
    Index count;
    std::int32_t id;
};

// Energies of components, added up over rows.
struct Tally {
    explicit Tally(Index n_components) : findings(n_components), ids(n_components + 1) {
        for (Index c = 0; c < n_components; ++c) findings[c] = {0, 0, static_cast<std::int32_t>(c)};
    }

    // Without a branch, which could not be predicted.
    void add(std::int32_t id, double sum, Index count) {
        Finding& finding = findings[id];
        ids[size] = id;
        size += finding.count == 0;
        finding.sum += sum;
        finding.count += count;
    }
    void clear() {
        for (Index i = 0; i < size; ++i) findings[ids[i]] = {0, 0, ids[i]};
        size = 0;
    }
    const Finding& operator[](Index i) const { return findings[ids[i]]; }

    Buffer<Finding> findings;   // of all components
    Buffer<std::int32_t> ids;   // of those that occurred, in that order
    Index size = 0;
};

struct Findings {
    Finding* entries;
    Index size;
};

inline Findings findings_of(const Tally& tally) {
    Finding* entries = new Finding[tally.size];
    for (Index i = 0; i < tally.size; ++i) entries[i] = tally[i];
    return {entries, tally.size};
}

// The components that are the best ones on average for the rows that share a best component.
// IN tally, self, former (n_neighbors); OUT neighbors (n_neighbors), of which the first is the component itself.
inline void choose_neighbors(const Tally& tally, std::int32_t self, Index n_neighbors, const std::int32_t* former,
                             double* means, std::int32_t* neighbors) {
    const Index n_others = n_neighbors - 1;
    neighbors[0] = self;
    if (n_others == 0) return;
    std::int32_t* const chosen = neighbors + 1;
    for (Index k = 0; k < n_others; ++k) {
        means[k] = infinity<double>();
        chosen[k] = -1;
    }
    for (Index i = 0; i < tally.size; ++i) {
        const Finding& finding = tally[i];
        const double mean = finding.sum / static_cast<double>(finding.count);
        if (mean < means[n_others - 1] && finding.id != self)
            insert_sorted(means, chosen, n_others, mean, finding.id);
    }
    Index n_new = 0;
    while (n_new < n_others && chosen[n_new] >= 0) ++n_new;
    // If there are too few, former neighbors are added.
    for (Index k = 1; k < n_neighbors && n_new < n_others; ++k) {
        bool again = false;
        for (Index e = 0; e < n_new; ++e) again |= chosen[e] == former[k];
        if (!again) chosen[n_new++] = former[k];
    }
    for (; n_new < n_others; ++n_new) chosen[n_new] = self;
}

template <class Isa, class T>
struct SearchScratch {
    ComponentList met, expanded;
    Tally tally;
    BestOfLanes<Isa, T> best;
    Buffer<T> energies, least, column_sums, precisions, offsets;
    Buffer<std::int32_t> chosen;
    Buffer<double> averages;
};

// The searched components of every row, for groups that are formed after all searches.
template <class T>
struct Seen {
    Seen(Index n_rows, Index most) : most(most), sizes(n_rows), ids(n_rows * most), energies(n_rows * most) {}

    // Energies are those of one lane.
    void keep(Index row, const ComponentList& met, const T* lane) {
        sizes[row] = met.size;
        for (Index i = 0; i < met.size; ++i) {
            ids[row * most + i] = met.ids[i];
            energies[row * most + i] = lane[i * kLanes<T>];
        }
    }
    void add_to(Tally& tally, Index row) const {
        for (Index i = row * most; i < row * most + sizes[row]; ++i)
            tally.add(ids[i], static_cast<double>(energies[i]), 1);
    }

    Index most;
    Buffer<Index> sizes;
    Buffer<std::int32_t> ids;
    Buffer<T> energies;
};

template <class T>
struct MetricScratch {
    FactorScratch<T> rows;
    Buffer<T> lanes;
    Buffer<const T*> means, scales;
};

// Distances of rows from components.
template <class T>
struct Metric {
    Index n_components;
    const T* precisions;  // of components, or nullptr: 1 / 2
    const T* offsets;     // of components

    Metric(Index n_components, const T* precisions, const T* offsets)
        : n_components(n_components), precisions(precisions), offsets(offsets) {}

    virtual MetricScratch<T> scratch(Index most_met) const = 0;
    // Sets the components that rows will be compared with.
    virtual void prepare(const ComponentList&, MetricScratch<T>&) const {}
    // Distances of some rows of a tile, at most one to a lane, to the gathered components: line i of `out` is of the
    // i-th. is_few: for a tile of few rows, columns can be the lanes.
    virtual void measure(const DenseRows<T>& x, const Index* rows, Index n, bool is_few, const ComponentList& met, T* out,
                         MetricScratch<T>& scratch) const = 0;
};

// Distances from means, optionally in scaled columns.
template <class Isa, class T>
class CenterMetric final : public Metric<T> {
   public:
    CenterMetric(const ScaledCenters<T>& components, Index n_columns, int n_threads)
        : Metric<T>(components.n_centers, components.precisions, components.offsets),
          is_scaled_(components.scales != nullptr),
          width_(ceil_div(n_columns, kLanes<T>) * kLanes<T>),
          means_(padded_rows<Isa>(components.centers, components.n_centers, n_columns, width_, n_threads)),
          scales_(padded_rows<Isa>(components.scales, components.n_centers, n_columns, width_, n_threads)) {}

    MetricScratch<T> scratch(Index most_met) const override {
        const Index padded = ceil_div(most_met, kLanes<T>) * kLanes<T>;
        return {FactorScratch<T>(kFewestLanes, width_, 0), Buffer<T>(max_index(kLanes<T> * width_, kFewestLanes * padded)),
                Buffer<const T*>(padded + kSpareCenters), Buffer<const T*>(padded + kSpareCenters)};
    }

    void prepare(const ComponentList& met, MetricScratch<T>& scratch) const override {
        for (Index i = 0; i < met.size + kSpareCenters; ++i) {
            const Index c = met.ids[min_index(i, met.size - 1)];
            scratch.means[i] = means_.data() + c * width_;
            scratch.scales[i] = is_scaled_ ? scales_.data() + c * width_ : nullptr;
        }
    }

    void measure(const DenseRows<T>& x, const Index* rows, Index n, bool is_few, const ComponentList& met, T* out,
                 MetricScratch<T>& scratch) const override {
        is_scaled_ ? measure_as<true>(x, rows, n, is_few, met, out, scratch)
                   : measure_as<false>(x, rows, n, is_few, met, out, scratch);
    }

   private:
    template <bool Scaled>
    void measure_as(const DenseRows<T>& x, const Index* rows, Index n, bool is_few, const ComponentList& met, T* out,
                    MetricScratch<T>& scratch) const {
        constexpr Index W = kLanes<T>, kAtOnce = kTileCenters<Isa, T>;
        const T* const* const means = scratch.means.data();
        const T* const* const scales = scratch.scales.data();
        if (!is_few) {
            rows_to_lanes<Isa>(x, rows, n, scratch.lanes.data());
            square_distances_by_lanes<Isa, T, Scaled>(scratch.lanes.data(), n, x.n_columns, means, scales, met.size, out);
            return;
        }
        const Index padded = ceil_div(met.size, kAtOnce) * kAtOnce;
        T *const copies = scratch.rows.rows.data(), *const found = scratch.lanes.data();
        for (Index r = 0; r < n; ++r) copy_padded<Isa>(x.row(rows[r]), x.n_columns, copies + r * width_);
        square_distances<Isa, T, Scaled>(copies, n, width_, means, scales, padded, found, padded);
        for (Index i = 0; i < met.size; ++i)
            for (Index r = 0; r < n; ++r) out[i * W + r] = found[r * padded + i];
    }

    bool is_scaled_;
    Index width_;
    Buffer<T> means_, scales_;
};

// Distances of rows from components with factors.
template <class Isa, class T>
class FactorMetric final : public Metric<T> {
   public:
    FactorMetric(const FactorComponents<T>& components, int n_threads)
        : Metric<T>(components.n_components, nullptr, components.offsets), padded_(components, n_threads) {}

    MetricScratch<T> scratch(Index) const override {
        return {FactorScratch<T>(kLanes<T>, padded_.width, padded_.n_factors), Buffer<T>(0), Buffer<const T*>(0),
                Buffer<const T*>(0)};
    }
    void measure(const DenseRows<T>& x, const Index* rows, Index n, bool, const ComponentList& met, T* out,
                 MetricScratch<T>& scratch) const override {
        T* const copies = scratch.rows.rows.data();
        for (Index r = 0; r < n; ++r) copy_padded<Isa>(x.row(rows[r]), x.n_columns, copies + r * padded_.width);
        for (Index i = 0; i < met.size; ++i)
            factor_distances<Isa, T>(copies, n, padded_, met.ids[i], out + i * kLanes<T>, scratch.rows);
    }

   private:
    PaddedComponents<Isa, T> padded_;
};

template <class Isa, class T>
void search_tile(const DenseRows<T>& x, const Metric<T>& metric, const TruncatedSearch<T>& search, const Index* rows,
                 Index n, Seen<T>& seen, SearchScratch<Isa, T>& scratch, MetricScratch<T>& metric_scratch) {
    constexpr Index W = kLanes<T>;
    gather_candidates(search, rows, n, scratch.met, scratch.expanded);
    const Index m = scratch.met.size, padded = ceil_div(m, W) * W;
    metric.prepare(scratch.met, metric_scratch);
    for (Index i = 0; i < padded; ++i) {
        const Index c = scratch.met.ids[min_index(i, m - 1)];
        scratch.precisions[i] = metric.precisions == nullptr ? T(0.5) : metric.precisions[c];
        scratch.offsets[i] = metric.offsets[c];
        scratch.column_sums[i] = 0;
    }
    for (Index first = 0; first < n; first += W) {
        const Index* const some = rows + first;
        const Index n_some = min_index(W, n - first);
        metric.measure(x, some, n_some, n < kFewestLanes, scratch.met, scratch.energies.data(), metric_scratch);
        energies_of_lanes<Isa>(scratch.energies.data(), n_some, m, scratch.precisions.data(), scratch.offsets.data(),
                               scratch.least.data(), scratch.column_sums.data());
        if (search.regroup)
            for (Index r = 0; r < n_some; ++r) seen.keep(some[r], scratch.met, scratch.energies.data() + r);
        const auto keep = [&](Index r, const BestOfLanes<Isa, T>& best, Index lane) {
            const Index at = some[r] * search.n_candidates;
            best.write(lane, search.candidates + at, search.energies + at);
        };
        best_of_lanes<Isa>(scratch.energies.data(), n_some, scratch.met.ids.data(), m, scratch.least.data(),
                           scratch.best, scratch.chosen.data(), keep);
    }
}

// Partial E-step: updates the candidates of every row and their energies, and the neighbors if requested. Rows with the
// same best component are processed together, a tile at a time: each row of a tile is compared with the candidates of
// all. Neighbors are learned from the same groups or, with `regroup`, from rows with the same best component
// afterwards. Returns the number of distances.
template <class Isa, class T>
Index search_components(const DenseRows<T>& x, const Metric<T>& metric, const TruncatedSearch<T>& search, int n_threads) {
    constexpr Index W = kLanes<T>, kMostRows = 512;
    const Index n_components = metric.n_components;
    const Index tile = search.group_size, n_neighbors = search.n_neighbors;
    const Index most_met = min_index(
        n_components, tile * (search.n_candidates * n_neighbors + (search.extra == nullptr ? 0 : 1)));
    const Index most_padded = ceil_div(most_met, W) * W;
    const auto group_rows = [&] {
        return group_by<Index>(x.n_rows, n_components, n_threads, [&](Index begin, Index end, auto&& take) {
            for (Index i = begin; i < end; ++i) take(search.candidates[i * search.n_candidates], i);
        });
    };
    const Grouping<Index> groups = group_rows();
    Seen<T> seen(search.regroup ? x.n_rows : 0, most_met);
    const Pieces pieces = cut_groups(groups.starts.data(), n_components, ceil_div(kMostRows, tile) * tile);
    Buffer<Findings> findings(pieces.size);
    Buffer<Index> n_distances(pieces.size);
    Buffer<std::int32_t> neighbors(n_components * n_neighbors);
    const auto choose = [&](const Tally& tally, Index c, Buffer<double>& averages) {
        choose_neighbors(tally, static_cast<std::int32_t>(c), n_neighbors, search.neighbors + c * n_neighbors,
                         averages.data(), neighbors.data() + c * n_neighbors);
    };

    struct Scratch {
        SearchScratch<Isa, T> tile;
        MetricScratch<T> metric;
    };
    const auto make_scratch = [&] {
        return Scratch{{ComponentList(tile * (search.n_candidates * n_neighbors + 1), n_components),
                        ComponentList(tile * search.n_candidates, n_components), Tally(n_components),
                        BestOfLanes<Isa, T>(search.n_candidates), Buffer<T>((most_padded + kSpareCenters) * W), Buffer<T>(W * W),
                        Buffer<T>(most_padded), Buffer<T>(most_padded), Buffer<T>(most_padded),
                        Buffer<std::int32_t>(most_padded), Buffer<double>(n_neighbors)},
                       metric.scratch(most_met)};
    };
    parallel_for(pieces.size, n_threads, make_scratch, [&](Index task, Scratch& all) {
        SearchScratch<Isa, T>& scratch = all.tile;
        const Piece piece = pieces.pieces[task];
        scratch.tally.clear();
        n_distances[task] = 0;
        for (Index first = piece.begin; first < piece.end; first += tile) {
            const Index n = min_index(tile, piece.end - first);
            const Index next_end = min_index(groups.starts[n_components], first + 2 * tile);
            for (Index i = first + n; i < next_end; ++i) prefetch_row(x, groups.items[i]);
            search_tile(x, metric, search, groups.items.data() + first, n, seen, scratch, all.metric);
            n_distances[task] += n * scratch.met.size;
            if (search.regroup) continue;
            for (Index i = 0; i < scratch.met.size; ++i)
                scratch.tally.add(scratch.met.ids[i], static_cast<double>(scratch.column_sums[i]), n);
        }
        if (search.regroup) return;
        if (pieces.starts[piece.group + 1] - pieces.starts[piece.group] > 1) findings[task] = findings_of(scratch.tally);
        else choose(scratch.tally, piece.group, scratch.averages);
    });

    struct MergeScratch {
        Tally tally;
        Buffer<double> averages;
    };
    const auto make_merge_scratch = [&] { return MergeScratch{Tally(n_components), Buffer<double>(n_neighbors)}; };
    const Grouping<Index> regrouped = search.regroup ? group_rows() : Grouping<Index>{Buffer<Index>(0), Buffer<Index>(0)};
    const Index* const learned = search.regroup ? regrouped.starts.data() : groups.starts.data();
    parallel_for(n_components, n_threads, make_merge_scratch, [&](Index c, MergeScratch& scratch) {
        if (search.regroup) {
            if (learned[c + 1] == learned[c]) return;
            scratch.tally.clear();
            for (Index i = learned[c]; i < learned[c + 1]; ++i) seen.add_to(scratch.tally, regrouped.items[i]);
            return choose(scratch.tally, c, scratch.averages);
        }
        if (pieces.starts[c + 1] - pieces.starts[c] < 2) return;
        scratch.tally.clear();
        for (Index p = pieces.starts[c]; p < pieces.starts[c + 1]; ++p) {
            for (Index e = 0; e < findings[p].size; ++e) {
                const Finding& finding = findings[p].entries[e];
                scratch.tally.add(finding.id, finding.sum, finding.count);
            }
            delete[] findings[p].entries;
        }
        choose(scratch.tally, c, scratch.averages);
    });
    for (Index c = 0; c < (search.update_neighbors ? n_components : 0); ++c)
        if (learned[c + 1] > learned[c])
            for (Index k = 0; k < n_neighbors; ++k) search.neighbors[c * n_neighbors + k] = neighbors[c * n_neighbors + k];
    Index total = 0;
    for (Index task = 0; task < pieces.size; ++task) total += n_distances[task];
    return total;
}

template <class Isa, class T>
Index truncated_search(const DenseRows<T>& x, const ScaledCenters<T>& components, const TruncatedSearch<T>& search,
                       int n_threads) {
    return search_components<Isa>(x, CenterMetric<Isa, T>(components, x.n_columns, n_threads), search, n_threads);
}

// The same for components with factors.
template <class Isa, class T>
Index factor_search(const DenseRows<T>& x, const FactorComponents<T>& components, const TruncatedSearch<T>& search,
                    int n_threads) {
    return search_components<Isa>(x, FactorMetric<Isa, T>(components, n_threads), search, n_threads);
}

}  // namespace
}  // namespace coterie
