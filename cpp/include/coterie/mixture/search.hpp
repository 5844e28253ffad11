// Truncated EM of Gaussian mixtures: each row knows its few best components, and looks among their neighbours for
// better ones (Hirschberger, Forster and Luecke 2022).
//
// The energy of a row with a component is minus the logarithm of their joint density, up to a constant: the distance
// to a scaled center.
#pragma once

#include "coterie/centers/differences_by_lanes.hpp"
#include "coterie/machine/parallel.hpp"
#include "coterie/machine/views.hpp"
#include "coterie/mixture/best_of_lanes.hpp"
#include "coterie/mixture/candidates.hpp"
#include "coterie/mixture/groups.hpp"
#include "coterie/mixture/neighbors.hpp"

namespace coterie {
namespace {

template <class Isa, class T>
struct SearchScratch {
    ComponentList met, expanded;
    Tally tally;
    BestOfLanes<Isa, T> best;
    Buffer<T> rows, lanes, energies, least, column_sums, precisions, offsets;
    Buffer<const T*> means, scales;
    Buffer<std::int32_t> chosen;
    Buffer<double> averages;
};

// What every row has looked at: needed where rows are grouped only after all have searched.
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

// Distances of some rows of a tile, at most one to a lane, to the components that were met: line i of scratch.energies
// is of the i-th. Where a tile is of few rows, columns are the lanes.
template <class Isa, class T, bool Scaled>
void measure_rows(const DenseRows<T>& x, const Index* rows, Index n, bool is_few, SearchScratch<Isa, T>& scratch) {
    constexpr Index W = kLanes<T>, kAtOnce = kTileCenters<Isa, T>;
    const Index width = ceil_div(x.n_columns, W) * W, m = scratch.met.size;
    const T* const* const means = scratch.means.data();
    const T* const* const scales = scratch.scales.data();
    T* const out = scratch.energies.data();
    if (!is_few) {
        rows_to_lanes<Isa>(x, rows, n, scratch.lanes.data());
        square_distances_by_lanes<Isa, T, Scaled>(scratch.lanes.data(), n, x.n_columns, means, scales, m, out);
        return;
    }
    const Index padded = ceil_div(m, kAtOnce) * kAtOnce;
    T *const copies = scratch.rows.data(), *const found = scratch.lanes.data();
    for (Index r = 0; r < n; ++r) copy_padded<Isa>(x.row(rows[r]), x.n_columns, copies + r * width);
    square_distances<Isa, T, Scaled>(copies, n, width, means, scales, padded, found, padded);
    for (Index i = 0; i < m; ++i)
        for (Index r = 0; r < n; ++r) out[i * W + r] = found[r * padded + i];
}

template <class Isa, class T, bool Scaled>
void search_tile(const DenseRows<T>& x, const ScaledCenters<T>& components, const T* means, const T* scales,
                 const TruncatedSearch<T>& search, const Index* rows, Index n, Seen<T>& seen,
                 SearchScratch<Isa, T>& scratch) {
    constexpr Index W = kLanes<T>;
    const Index width = ceil_div(x.n_columns, W) * W;
    gather_candidates(search, rows, n, scratch.met, scratch.expanded);
    const Index m = scratch.met.size, padded = ceil_div(m, W) * W;
    for (Index i = 0; i < m + kSpareCenters; ++i) {
        const Index c = scratch.met.ids[min_index(i, m - 1)];
        scratch.means[i] = means + c * width;
        scratch.scales[i] = Scaled ? scales + c * width : nullptr;
        scratch.precisions[i] = components.precisions[c];
        scratch.offsets[i] = components.offsets[c];
    }
    for (Index i = 0; i < padded; ++i) scratch.column_sums[i] = 0;
    for (Index first = 0; first < n; first += W) {
        const Index* const some = rows + first;
        const Index n_some = min_index(W, n - first);
        measure_rows<Isa, T, Scaled>(x, some, n_some, n < kFewestLanes, scratch);
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

// Partial E-step: brings the candidates of every row and their energies up to date, and the neighbours if wanted.
// Rows with the same best component are worked on together, a tile at a time: each row of a tile is compared with
// what any of them would look at. Neighbours are learnt from the same groups or, with `regroup`, from rows with the same
// best component afterwards. Returns the number of distances.
template <class Isa, class T, bool Scaled>
Index search_components(const DenseRows<T>& x, const ScaledCenters<T>& components, const TruncatedSearch<T>& search,
                        int n_threads) {
    constexpr Index W = kLanes<T>, kMostRows = 512;
    const Index n_components = components.n_centers, width = ceil_div(x.n_columns, W) * W;
    const Index tile = search.rows_per_tile, n_neighbors = search.n_neighbors;
    const Index most_met = min_index(
        n_components, tile * (search.n_candidates * n_neighbors + (search.extra == nullptr ? 0 : 1)));
    const Index most_padded = ceil_div(most_met, W) * W;
    const Buffer<T> means = padded_rows<Isa>(components.centers, n_components, x.n_columns, width, n_threads);
    const Buffer<T> scales = padded_rows<Isa>(components.scales, n_components, x.n_columns, width, n_threads);
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

    const auto make_scratch = [&] {
        return SearchScratch<Isa, T>{ComponentList(tile * (search.n_candidates * n_neighbors + 1), n_components),
                                     ComponentList(tile * search.n_candidates, n_components),
                                     Tally(n_components),
                                     BestOfLanes<Isa, T>(search.n_candidates),
                                     Buffer<T>(kFewestLanes * width),
                                     Buffer<T>(max_index(W * width, kFewestLanes * most_padded)),
                                     Buffer<T>((most_padded + kSpareCenters) * W),
                                     Buffer<T>(W * W),
                                     Buffer<T>(most_padded),
                                     Buffer<T>(most_padded + kSpareCenters),
                                     Buffer<T>(most_padded + kSpareCenters),
                                     Buffer<const T*>(most_padded + kSpareCenters),
                                     Buffer<const T*>(most_padded + kSpareCenters),
                                     Buffer<std::int32_t>(most_padded),
                                     Buffer<double>(n_neighbors)};
    };
    parallel_for(pieces.size, n_threads, make_scratch, [&](Index task, SearchScratch<Isa, T>& scratch) {
        const Piece piece = pieces.pieces[task];
        scratch.tally.clear();
        n_distances[task] = 0;
        for (Index first = piece.begin; first < piece.end; first += tile) {
            const Index n = min_index(tile, piece.end - first);
            const Index next_end = min_index(groups.starts[n_components], first + 2 * tile);
            for (Index i = first + n; i < next_end; ++i) prefetch_row(x, groups.items[i]);
            search_tile<Isa, T, Scaled>(x, components, means.data(), scales.data(), search, groups.items.data() + first,
                                        n, seen, scratch);
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
    const Index* const learnt = search.regroup ? regrouped.starts.data() : groups.starts.data();
    parallel_for(n_components, n_threads, make_merge_scratch, [&](Index c, MergeScratch& scratch) {
        if (search.regroup) {
            if (learnt[c + 1] == learnt[c]) return;
            scratch.tally.clear();
            for (Index i = learnt[c]; i < learnt[c + 1]; ++i) seen.add_to(scratch.tally, regrouped.items[i]);
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
        if (learnt[c + 1] > learnt[c])
            for (Index k = 0; k < n_neighbors; ++k) search.neighbors[c * n_neighbors + k] = neighbors[c * n_neighbors + k];
    Index total = 0;
    for (Index task = 0; task < pieces.size; ++task) total += n_distances[task];
    return total;
}

template <class Isa, class T>
Index truncated_search(const DenseRows<T>& x, const ScaledCenters<T>& components, const TruncatedSearch<T>& search,
                       int n_threads) {
    return components.scales == nullptr ? search_components<Isa, T, false>(x, components, search, n_threads)
                                        : search_components<Isa, T, true>(x, components, search, n_threads);
}

}  // namespace
}  // namespace coterie
