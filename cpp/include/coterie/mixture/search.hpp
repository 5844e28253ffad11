// Truncated EM of Gaussian mixtures: each row knows its few best components, and looks among their neighbours for
// better ones (Hirschberger, Forster and Luecke 2022).
//
// The energy of a row with a component is minus the logarithm of their joint density, up to a constant:
// precision * ||(x - mean) * scale||^2 + offset. It is computed from differences, which neither cancel nor need the
// rows to be centred; where additions have units of their own, that costs hardly more than a product.
#pragma once

#include <cstdlib>

#include "coterie/machine/lanes.hpp"
#include "coterie/centers/nearest.hpp"
#include "coterie/machine/parallel.hpp"
#include "coterie/centers/scores.hpp"

namespace coterie {

template <class T>
struct MixtureComponents {
    const T* means;       // n_components x n_columns
    const T* scales;      // the same shape, or nullptr: 1
    const T* precisions;  // n_components
    const T* offsets;     // n_components; infinite: never chosen
    Index n_components;
    Index n_columns;
};

template <class T>
struct TruncatedSearch {
    std::int32_t* candidates;   // IN/OUT n_rows x n_candidates: components of each row, the best one first
    T* energies;                // OUT the same shape, ascending
    Index n_candidates;
    std::int32_t* neighbors;    // IN/OUT n_components x n_neighbors: each begins with the component itself
    Index n_neighbors;
    const std::int32_t* extra;  // one more component to try for each row, or nullptr
    Index rows_per_tile;        // how many rows look among each other's candidates
    bool update_neighbors;
};

// The shares of rows in their candidates.
template <class T>
struct Shares {
    const std::int32_t* candidates;  // n_rows x n_candidates
    const T* shares;                 // the same shape, descending
    const T* energies;               // the same shape
    const T* weights;                // n_rows, or nullptr: 1
    Index n_candidates;
};

namespace {

// Items in the order of their keys, those with the same key in ascending order.
template <class Item>
struct Grouping {
    Buffer<Index> starts;  // n_keys + 1
    Buffer<Item> items;
};

// each(begin, end, f) calls f(key, item) for the items of rows begin .. end - 1, in ascending order, twice the same.
template <class Item, class Each>
Grouping<Item> group_by(Index n_rows, Index n_keys, int n_threads, Each each) {
    // Chunks are counted apart, so that threads can share the work; few, since each has a counter for every key.
    const Index n_chunks = max_index(1, min_index(16, n_rows / max_index(4096, n_keys)));
    const Index chunk = ceil_div(max_index(1, n_rows), n_chunks);
    Buffer<Index> places(n_chunks * n_keys);
    places.fill(0);
    const auto each_of = [&](Index task, auto&& take) {
        each(task * chunk, min_index(n_rows, (task + 1) * chunk), take);
    };
    parallel_for(n_chunks, n_threads, [&](Index task) {
        Index* const counts = places.data() + task * n_keys;
        each_of(task, [=](Index key, const Item&) { ++counts[key]; });
    });
    Grouping<Item> out{Buffer<Index>(n_keys + 1), Buffer<Item>(0)};
    Index next = 0;
    for (Index k = 0; k < n_keys; ++k) {
        out.starts[k] = next;
        for (Index task = 0; task < n_chunks; ++task) {
            const Index count = places[task * n_keys + k];
            places[task * n_keys + k] = next;
            next += count;
        }
    }
    out.starts[n_keys] = next;
    out.items = Buffer<Item>(next);
    parallel_for(n_chunks, n_threads, [&](Index task) {
        Item* const items = out.items.data();
        Index* const place = places.data() + task * n_keys;
        each_of(task, [=](Index key, const Item& item) { items[place[key]++] = item; });
    });
    return out;
}

// Some items of one group.
struct Piece {
    Index group, begin, end;
};

struct Pieces {
    Buffer<Piece> pieces;
    Buffer<Index> starts;  // n_groups + 1: which pieces are a group's
    Index size;
};

// Cuts each group into pieces of at most `most` items.
inline Pieces cut_groups(const Index* starts, Index n_groups, Index most) {
    Index n = 0;
    for (Index g = 0; g < n_groups; ++g) n += ceil_div(starts[g + 1] - starts[g], most);
    Pieces out{Buffer<Piece>(n), Buffer<Index>(n_groups + 1), 0};
    for (Index g = 0; g < n_groups; ++g) {
        out.starts[g] = out.size;
        for (Index begin = starts[g]; begin < starts[g + 1]; begin += most)
            out.pieces[out.size++] = {g, begin, min_index(begin + most, starts[g + 1])};
    }
    out.starts[n_groups] = out.size;
    return out;
}

// --- squared distances of a few rows to a few means

// Rows and means are padded with zeros to whole cache lines; out[r * out_stride + c].
template <class Isa, class T, int R, int C, bool Scaled>
inline __attribute__((always_inline)) void distance_tile(const T* rows, Index width, const T* const* means,
                                                         const T* const* scales, T* out, Index out_stride) {
    using V = typename Isa::template Vector<T>;
    constexpr int L = sizeof(V) / sizeof(T), NV = 64 / sizeof(V), N = R * C, AtOnce = N < L ? N : L;
    V sums[N][NV];
#pragma GCC unroll 32
    for (int i = 0; i < N; ++i)
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) sums[i][v] = V{};
    for (Index j = 0; j < width; j += kLanes<T>) {
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) {
            V x[R];
#pragma GCC unroll 8
            for (int r = 0; r < R; ++r) x[r] = *reinterpret_cast<const V*>(rows + r * width + j + v * L);
#pragma GCC unroll 8
            for (int c = 0; c < C; ++c) {
                const V mean = *reinterpret_cast<const V*>(means[c] + j + v * L);
#pragma GCC unroll 8
                for (int r = 0; r < R; ++r) {
                    V difference = x[r] - mean;
                    if constexpr (Scaled) difference *= *reinterpret_cast<const V*>(scales[c] + j + v * L);
                    sums[r * C + c][v] += difference * difference;
                }
            }
        }
    }
    V folded[N];
#pragma GCC unroll 32
    for (int i = 0; i < N; ++i) {
#pragma GCC unroll 4
        for (int h = NV / 2; h > 0; h /= 2)
#pragma GCC unroll 4
            for (int v = 0; v < h; ++v) sums[i][v] += sums[i][v + h];
        folded[i] = sums[i][0];
    }
#pragma GCC unroll 32
    for (int first = 0; first < N; first += AtOnce) {
        const V totals = reduce_lanes<L, AtOnce>(folded + first);
#pragma GCC unroll 32
        for (int i = 0; i < AtOnce; ++i) out[(first + i) / C * out_stride + (first + i) % C] = totals[i];
    }
}

// As many sums as the registers hold.
template <class Isa, class T>
inline constexpr int kTileMeans = sizeof(typename Isa::template Vector<T>) == 64 ? 4 : 2;
template <class Isa, class T>
inline constexpr int kTileRows = sizeof(typename Isa::template Vector<T>) == 64   ? 4
                                 : sizeof(typename Isa::template Vector<T>) == 32 ? 2
                                                                                  : 1;

template <class Isa, class T, int R, bool Scaled>
inline void distance_rows(const T* rows, Index n_rows, Index width, const T* const* means, const T* const* scales,
                          T* out, Index out_stride) {
    for (; n_rows >= R; n_rows -= R, rows += R * width, out += R * out_stride)
        distance_tile<Isa, T, R, kTileMeans<Isa, T>, Scaled>(rows, width, means, scales, out, out_stride);
    if constexpr (R > 1)
        if (n_rows > 0) distance_rows<Isa, T, R / 2, Scaled>(rows, n_rows, width, means, scales, out, out_stride);
}

// n_means is a multiple of kTileMeans.
template <class Isa, class T, bool Scaled>
void distances(const T* rows, Index n_rows, Index width, const T* const* means, const T* const* scales, Index n_means,
               T* out, Index out_stride) {
    for (Index c = 0; c < n_means; c += kTileMeans<Isa, T>)
        distance_rows<Isa, T, kTileRows<Isa, T>, Scaled>(rows, n_rows, width, means + c, scales + c, out + c, out_stride);
}

// --- the search

// Copies a row and fills it up with zeros to whole cache lines. memcpy would be called anew for each row.
template <class Isa, class T>
inline void copy_padded(const T* from, Index n_columns, T* to) {
    using V = typename Isa::template Vector<T>;
    using Loaded = typename Isa::template UnalignedVector<T>;
    constexpr Index L = sizeof(V) / sizeof(T);
    Index j = 0;
    for (; j + L <= n_columns; j += L) *reinterpret_cast<V*>(to + j) = *reinterpret_cast<const Loaded*>(from + j);
    for (; j < n_columns; ++j) to[j] = from[j];
    for (; j % kLanes<T> != 0; ++j) to[j] = 0;
}

template <class Isa, class T>
Buffer<T> padded_rows(const T* rows, Index n_rows, Index n_columns, Index width, int n_threads) {
    Buffer<T> out(rows == nullptr ? 0 : n_rows * width);
    if (rows != nullptr)
        parallel_for(ceil_div(n_rows, 256), n_threads, [&](Index task) {
            for (Index c = task * 256; c < min_index(n_rows, (task + 1) * 256); ++c)
                copy_padded<Isa>(rows + c * n_columns, n_columns, out.data() + c * width);
        });
    return out;
}

// Which components have been met since `clear`, and in which order.
struct Marks {
    explicit Marks(Index n_components) : places(n_components), ids(n_components + 1) { places.fill(-1); }

    // Adds id(0) .. id(n - 1). Without a branch: whether one is new cannot be predicted.
    template <class Id>
    void add_all(Index n, Id id) {
        std::int32_t* const place = places.data();
        std::int32_t* const listed = ids.data();
        std::int32_t next = static_cast<std::int32_t>(size);
        for (Index i = 0; i < n; ++i) {
            const std::int32_t c = id(i), before = place[c], is_new = before >> 31;  // 0 or -1
            place[c] = before ^ ((before ^ next) & is_new);
            listed[next] = c;
            next -= is_new;
        }
        size = next;
    }
    // Returns the place of one id, and whether it is new.
    Index add(std::int32_t id, bool& is_new) {
        is_new = places[id] < 0;
        if (is_new) {
            places[id] = static_cast<std::int32_t>(size);
            ids[size++] = id;
        }
        return places[id];
    }
    void clear() {
        for (Index i = 0; i < size; ++i) places[ids[i]] = -1;
        size = 0;
    }

    Buffer<std::int32_t> places;
    Buffer<std::int32_t> ids;
    Index size = 0;
};

// Energies of components, added up over rows.
struct Tally {
    explicit Tally(Index n_components) : met(n_components), sums(n_components), counts(n_components) {}

    void add(std::int32_t id, double sum, Index count) {
        bool is_new;
        const Index at = met.add(id, is_new);
        sums[at] = (is_new ? 0 : sums[at]) + sum;
        counts[at] = (is_new ? 0 : counts[at]) + count;
    }

    Marks met;
    Buffer<double> sums;
    Buffer<Index> counts;
};

// What one of several pieces of a group found out about a component.
struct Finding {
    double sum;
    Index count;
    std::int32_t id;
};

struct Findings {
    Finding* entries;
    Index size;
};

template <class T>
struct SearchScratch {
    Marks met, expanded;
    Tally tally;
    Buffer<T> rows, energies, column_sums, precisions, offsets;
    Buffer<const T*> means, scales;
    Buffer<double> averages;
};

// Gathers the candidates of a tile: neighbours of what its rows know, neighbours of the best ones first.
template <class T>
void gather_candidates(const TruncatedSearch<T>& search, const Index* rows, Index n, Marks& met, Marks& expanded) {
    met.clear();
    expanded.clear();
    for (Index k = 0; k < search.n_candidates; ++k)
        expanded.add_all(n, [&](Index r) { return search.candidates[rows[r] * search.n_candidates + k]; });
    for (Index i = 0; i < expanded.size; ++i) {
        const std::int32_t* near = search.neighbors + expanded.ids[i] * search.n_neighbors;
        met.add_all(search.n_neighbors, [=](Index g) { return near[g]; });
    }
    if (search.extra != nullptr) met.add_all(n, [&](Index r) { return search.extra[rows[r]]; });
}

// Keeps the best of n energies of one row below the bound; ids[i] is the component of energies[i]. n fills panels.
// Returns whether there were enough.
template <class Isa, class T>
bool keep_below(const T* energies, const std::int32_t* ids, Index n, T bound, Index n_kept, std::int32_t* kept,
                T* kept_energies) {
    for (Index k = 0; k < n_kept; ++k) {
        kept_energies[k] = bound;
        kept[k] = -1;
    }
    for (Index first = 0; first < n; first += kLanes<T>) {
        unsigned lanes = Isa::below(energies + first, kept_energies[n_kept - 1]);
        for (; lanes != 0; lanes &= lanes - 1) {
            const Index i = first + __builtin_ctz(lanes);
            if (energies[i] < kept_energies[n_kept - 1]) insert_sorted(kept_energies, kept, n_kept, energies[i], ids[i]);
        }
    }
    return kept[n_kept - 1] >= 0;
}

// Replaces the candidates of one row by the best of what its tile has met; n fills panels.
template <class Isa, class T>
void keep_best(const T* energies, const Marks& met, Index n, Index n_kept, std::int32_t* kept, T* kept_energies) {
    // Nothing worse than the worst of the former candidates can be kept, unless one of them is a stand-in.
    T bound = -infinity<T>();
    for (Index k = 0; k < n_kept; ++k) {
        kept_energies[k] = k > 0 && kept[k] == kept[0] ? infinity<T>() : energies[met.places[kept[k]]];
        bound = kept_energies[k] > bound ? kept_energies[k] : bound;
    }
    bound += (bound < 0 ? -bound : bound) * epsilon<T>();
    Index n_below = 0;
    for (Index first = 0; first < n; first += kLanes<T>) n_below += __builtin_popcount(Isa::below(energies + first, bound));
    if (n_below == n_kept && bound < infinity<T>()) {
        // In most cases they are the same ones, in nearly the same order.
        for (Index k = 1; k < n_kept; ++k) insert_sorted(kept_energies, kept, k + 1, kept_energies[k], kept[k]);
        return;
    }
    const std::int32_t former = kept[0];
    if (keep_below<Isa>(energies, met.ids.data(), n, bound, n_kept, kept, kept_energies)) return;
    keep_below<Isa>(energies, met.ids.data(), n, infinity<T>(), n_kept, kept, kept_energies);
    // Where too few components can be chosen, the best one stands in, without a share.
    if (kept[0] < 0) kept[0] = former;
    for (Index k = 1; k < n_kept; ++k)
        if (kept[k] < 0) kept[k] = kept[0];
}

template <class Isa, class T, bool Scaled>
void search_tile(const DenseRows<T>& x, const MixtureComponents<T>& components, const T* means, const T* scales,
                 const TruncatedSearch<T>& search, const Index* rows, Index n, SearchScratch<T>& scratch) {
    constexpr Index W = kLanes<T>;
    const Index width = ceil_div(x.n_columns, W) * W;
    gather_candidates(search, rows, n, scratch.met, scratch.expanded);
    const Index m = scratch.met.size, padded = ceil_div(m, W) * W;
    for (Index i = 0; i < padded; ++i) {
        const Index c = scratch.met.ids[min_index(i, m - 1)];
        scratch.means[i] = means + c * width;
        scratch.scales[i] = Scaled ? scales + c * width : nullptr;
        scratch.precisions[i] = i < m ? components.precisions[c] : 0;
        scratch.offsets[i] = i < m ? components.offsets[c] : infinity<T>();
        scratch.column_sums[i] = 0;
    }
    for (Index r = 0; r < n; ++r) copy_padded<Isa>(x.row(rows[r]), x.n_columns, scratch.rows.data() + r * width);
    const Index in_use = ceil_div(m, kTileMeans<Isa, T>) * kTileMeans<Isa, T>;
    distances<Isa, T, Scaled>(scratch.rows.data(), n, width, scratch.means.data(), scratch.scales.data(), in_use,
                              scratch.energies.data(), padded);
    for (Index r = 0; r < n; ++r) {
        T* energies = scratch.energies.data() + r * padded;
        for (Index i = in_use; i < padded; ++i) energies[i] = 0;
        for (Index i = 0; i < padded; ++i) {
            energies[i] = energies[i] * scratch.precisions[i] + scratch.offsets[i];
            scratch.column_sums[i] += energies[i];
        }
        keep_best<Isa>(energies, scratch.met, padded, search.n_candidates,
                       search.candidates + rows[r] * search.n_candidates,
                       search.energies + rows[r] * search.n_candidates);
    }
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
    for (Index i = 0; i < tally.met.size; ++i) {
        const double mean = tally.sums[i] / static_cast<double>(tally.counts[i]);
        if (mean < means[n_others - 1] && tally.met.ids[i] != self)
            insert_sorted(means, chosen, n_others, mean, tally.met.ids[i]);
    }
    Index n_new = 0;
    while (n_new < n_others && chosen[n_new] >= 0) ++n_new;
    // Too few are known: former neighbours fill up.
    for (Index k = 1; k < n_neighbors && n_new < n_others; ++k) {
        bool again = false;
        for (Index e = 0; e < n_new; ++e) again |= chosen[e] == former[k];
        if (!again) chosen[n_new++] = former[k];
    }
    for (; n_new < n_others; ++n_new) chosen[n_new] = self;
}

inline Findings findings_of(const Tally& tally) {
    Finding* entries = new Finding[tally.met.size];
    for (Index i = 0; i < tally.met.size; ++i) entries[i] = {tally.sums[i], tally.counts[i], tally.met.ids[i]};
    return {entries, tally.met.size};
}

// Partial E-step: brings the candidates of every row and their energies up to date, and the neighbours if wanted.
// Rows with the same best component are worked on together, a tile at a time: each row of a tile is compared with
// what any of them would look at. Returns the number of distances.
template <class Isa, class T, bool Scaled>
Index search_components(const DenseRows<T>& x, const MixtureComponents<T>& components, const TruncatedSearch<T>& search,
                        int n_threads) {
    constexpr Index W = kLanes<T>, kMostRows = 512;
    const Index n_components = components.n_components, width = ceil_div(x.n_columns, W) * W;
    const Index tile = search.rows_per_tile, n_neighbors = search.n_neighbors;
    const Index most_met = min_index(
        n_components, tile * (search.n_candidates * n_neighbors + (search.extra == nullptr ? 0 : 1)));
    const Index most_padded = ceil_div(most_met, W) * W;
    const Buffer<T> means = padded_rows<Isa>(components.means, n_components, x.n_columns, width, n_threads);
    const Buffer<T> scales = padded_rows<Isa>(components.scales, n_components, x.n_columns, width, n_threads);
    const Grouping<Index> groups = group_by<Index>(x.n_rows, n_components, n_threads, [&](Index begin, Index end, auto&& take) {
        for (Index i = begin; i < end; ++i) take(search.candidates[i * search.n_candidates], i);
    });
    const Pieces pieces = cut_groups(groups.starts.data(), n_components, ceil_div(kMostRows, tile) * tile);
    Buffer<Findings> findings(pieces.size);
    Buffer<Index> n_distances(pieces.size);
    Buffer<std::int32_t> neighbors(n_components * n_neighbors);
    const auto choose = [&](const Tally& tally, Index c, Buffer<double>& averages) {
        choose_neighbors(tally, static_cast<std::int32_t>(c), n_neighbors, search.neighbors + c * n_neighbors,
                         averages.data(), neighbors.data() + c * n_neighbors);
    };

    const auto make_scratch = [&] {
        return SearchScratch<T>{Marks(n_components),
                                Marks(n_components),
                                Tally(n_components),
                                Buffer<T>(tile * width),
                                Buffer<T>(tile * most_padded),
                                Buffer<T>(most_padded),
                                Buffer<T>(most_padded),
                                Buffer<T>(most_padded),
                                Buffer<const T*>(most_padded),
                                Buffer<const T*>(most_padded),
                                Buffer<double>(n_neighbors)};
    };
    parallel_for(pieces.size, n_threads, make_scratch, [&](Index task, SearchScratch<T>& scratch) {
        const Piece piece = pieces.pieces[task];
        scratch.tally.met.clear();
        n_distances[task] = 0;
        for (Index first = piece.begin; first < piece.end; first += tile) {
            const Index n = min_index(tile, piece.end - first);
            const Index next_end = min_index(groups.starts[n_components], first + 2 * tile);
            for (Index i = first + n; i < next_end; ++i) prefetch_row(x, groups.items[i]);
            search_tile<Isa, T, Scaled>(x, components, means.data(), scales.data(), search, groups.items.data() + first,
                                        n, scratch);
            n_distances[task] += n * scratch.met.size;
            for (Index i = 0; i < scratch.met.size; ++i)
                scratch.tally.add(scratch.met.ids[i], static_cast<double>(scratch.column_sums[i]), n);
        }
        if (pieces.starts[piece.group + 1] - pieces.starts[piece.group] > 1) findings[task] = findings_of(scratch.tally);
        else choose(scratch.tally, piece.group, scratch.averages);
    });

    struct MergeScratch {
        Tally tally;
        Buffer<double> averages;
    };
    const auto make_merge_scratch = [&] { return MergeScratch{Tally(n_components), Buffer<double>(n_neighbors)}; };
    parallel_for(n_components, n_threads, make_merge_scratch, [&](Index c, MergeScratch& scratch) {
        if (pieces.starts[c + 1] - pieces.starts[c] < 2) return;
        scratch.tally.met.clear();
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
        if (pieces.starts[c + 1] > pieces.starts[c])
            for (Index k = 0; k < n_neighbors; ++k) search.neighbors[c * n_neighbors + k] = neighbors[c * n_neighbors + k];
    Index total = 0;
    for (Index task = 0; task < pieces.size; ++task) total += n_distances[task];
    return total;
}

template <class Isa, class T>
Index truncated_search(const DenseRows<T>& x, const MixtureComponents<T>& components, const TruncatedSearch<T>& search,
                       int n_threads) {
    return components.scales == nullptr ? search_components<Isa, T, false>(x, components, search, n_threads)
                                        : search_components<Isa, T, true>(x, components, search, n_threads);
}

// The same without looking for better candidates: only the energies of those that rows have, and their order.
template <class Isa, class T, bool Scaled>
void refresh(const DenseRows<T>& x, const MixtureComponents<T>& components, std::int32_t* candidates, T* energies,
             Index n_candidates, int n_threads) {
    constexpr Index W = kLanes<T>, kChunk = 512;
    const Index width = ceil_div(x.n_columns, W) * W, m = n_candidates;
    const Index padded = ceil_div(m, kTileMeans<Isa, T>) * kTileMeans<Isa, T>;
    const Buffer<T> means = padded_rows<Isa>(components.means, components.n_components, x.n_columns, width, n_threads);
    const Buffer<T> scales = padded_rows<Isa>(components.scales, components.n_components, x.n_columns, width, n_threads);
    struct Scratch {
        Buffer<T> row, found;
        Buffer<const T*> means, scales;
    };
    const auto make_scratch = [&] {
        return Scratch{Buffer<T>(width), Buffer<T>(padded), Buffer<const T*>(padded), Buffer<const T*>(padded)};
    };
    parallel_for(ceil_div(x.n_rows, kChunk), n_threads, make_scratch, [&](Index task, Scratch& scratch) {
        for (Index i = task * kChunk; i < min_index(x.n_rows, (task + 1) * kChunk); ++i) {
            std::int32_t* const ids = candidates + i * m;
            T* const kept = energies + i * m;
            copy_padded<Isa>(x.row(i), x.n_columns, scratch.row.data());
            for (Index k = 0; k < padded; ++k) {
                const Index c = ids[min_index(k, m - 1)];
                scratch.means[k] = means.data() + c * width;
                scratch.scales[k] = Scaled ? scales.data() + c * width : nullptr;
            }
            distances<Isa, T, Scaled>(scratch.row.data(), 1, width, scratch.means.data(), scratch.scales.data(), padded,
                                      scratch.found.data(), padded);
            const std::int32_t best = ids[0];
            for (Index k = 0; k < m; ++k) {
                const std::int32_t c = ids[k];
                const T energy = scratch.found[k] * components.precisions[c] + components.offsets[c];
                insert_sorted(kept, ids, k + 1, k > 0 && c == best ? infinity<T>() : energy, c);
            }
            // Where the best one stands in, it is the new one that does.
            for (Index k = 1; k < m; ++k)
                if (kept[k] == infinity<T>()) ids[k] = ids[0];
        }
    });
}

template <class Isa, class T>
void truncated_refresh(const DenseRows<T>& x, const MixtureComponents<T>& components, std::int32_t* candidates,
                       T* energies, Index n_candidates, int n_threads) {
    components.scales == nullptr
        ? refresh<Isa, T, false>(x, components, candidates, energies, n_candidates, n_threads)
        : refresh<Isa, T, true>(x, components, candidates, energies, n_candidates, n_threads);
}

// --- posteriors and sums

inline float exponential(float x) { return __builtin_expf(x); }
inline double exponential(double x) { return __builtin_exp(x); }

// IN energies (n x m, ascending), negligible; OUT shares (n x m; each row sums to 1; 0 where smaller than
// exp(-negligible) of the largest one), log_densities (n): log sum exp(-energy).
template <class Isa, class T>
void truncated_posteriors(const T* energies, Index n, Index m, T negligible, T* shares, double* log_densities,
                          int n_threads) {
    constexpr Index kChunk = 2048;
    parallel_for(ceil_div(n, kChunk), n_threads, [&](Index task) {
        for (Index i = task * kChunk; i < min_index(n, (task + 1) * kChunk); ++i) {
            const T* row = energies + i * m;
            T* share = shares + i * m;
            double total = 0;
            for (Index k = 0; k < m; ++k) {
                const T above = row[k] - row[0];
                share[k] = above < negligible ? exponential(-above) : T(0);
                total += static_cast<double>(share[k]);
            }
            const T scale = static_cast<T>(1 / total);
            for (Index k = 0; k < m; ++k) share[k] *= scale;
            log_densities[i] = __builtin_log(total) - static_cast<double>(row[0]);
        }
    });
}

// What the M-step needs of a component, or of a piece of its rows.
struct Moments {
    double* mass;     // sum of the weights
    double* energy;   // weighted sum of the energies
    double* first;    // n_columns: weighted sum of the rows, relative to the mean
    double* second;   // n_columns: of the squares of the same; or nullptr
};

template <class T, int AtOnce, bool Second>
void add_rows_to_moments(const DenseRows<T>& x, const Index* rows, const double* weights, const T* mean,
                         const Moments& out) {
    const T* from[AtOnce];
    for (int r = 0; r < AtOnce; ++r) from[r] = x.row(rows[r]);
    double* const first = out.first;
    double* const second = out.second;
    for (Index j = 0; j < x.n_columns; ++j) {
        double sum = first[j], square = Second ? second[j] : 0;
#pragma GCC unroll 4
        for (int r = 0; r < AtOnce; ++r) {
            const double difference = static_cast<double>(from[r][j] - mean[j]);
            sum += weights[r] * difference;
            if constexpr (Second) square += weights[r] * difference * difference;
        }
        first[j] = sum;
        if constexpr (Second) second[j] = square;
    }
}

// What a component needs to know of a row that has a share in it. Rows up to `end` are asked for ahead of time.
template <class T>
struct Entry {
    std::int32_t row;
    T weight;
    T energy;
};

template <class T, bool Second>
void add_moments(const DenseRows<T>& x, const Entry<T>* entries, Index n, const Entry<T>* end, const T* mean,
                 const Moments& out) {
    constexpr int AtOnce = 4;
    constexpr Index kAhead = 24;
    Index rows[AtOnce];
    double weights[AtOnce], mass = 0, energy = 0;
    for (Index e = 0; e < n; e += AtOnce) {
        const int taken = static_cast<int>(min_index(AtOnce, n - e));
        for (int r = 0; r < taken; ++r) {
            const Entry<T>& entry = entries[e + r];
            if (end - entries > e + r + kAhead) prefetch_row(x, entries[e + r + kAhead].row);
            rows[r] = entry.row;
            weights[r] = static_cast<double>(entry.weight);
            mass += weights[r];
            energy += weights[r] * static_cast<double>(entry.energy);
        }
        if (taken == AtOnce) add_rows_to_moments<T, AtOnce, Second>(x, rows, weights, mean, out);
        else
            for (int r = 0; r < taken; ++r) add_rows_to_moments<T, 1, Second>(x, rows + r, weights + r, mean, out);
    }
    *out.mass += mass;
    *out.energy += energy;
}

template <class T>
void add_chunk_to_moments(const DenseRows<T>& x, const Shares<T>& shares, const T* means, Index n_components,
                          double* masses, double* energies, double* first, double* second, int n_threads) {
    constexpr Index kMostEntries = 2048;
    const Index d = x.n_columns, m = shares.n_candidates, stride = 2 + d + (second == nullptr ? 0 : d);
    const Grouping<Entry<T>> groups =
        group_by<Entry<T>>(x.n_rows, n_components, n_threads, [&](Index begin, Index end, auto&& take) {
            for (Index i = begin; i < end; ++i) {
                const T weight = shares.weights == nullptr ? T(1) : shares.weights[i];
                for (Index e = i * m; e < (i + 1) * m && shares.shares[e] > 0; ++e)
                    take(shares.candidates[e],
                         Entry<T>{static_cast<std::int32_t>(i), weight * shares.shares[e], shares.energies[e]});
            }
        });
    const Pieces pieces = cut_groups(groups.starts.data(), n_components, kMostEntries);
    // The first piece of each component adds to the result at once, the others to places of their own.
    Buffer<Index> places(pieces.size);
    Index n_places = 0;
    for (Index p = 0; p < pieces.size; ++p)
        places[p] = p == pieces.starts[pieces.pieces[p].group] ? -1 : n_places++;
    Buffer<double> others(n_places * stride);
    others.fill(0);
    const auto result = [&](Index c) {
        return Moments{masses + c, energies + c, first + c * d, second == nullptr ? nullptr : second + c * d};
    };
    const auto part = [&](Index p) {
        double* const place = others.data() + places[p] * stride;
        return Moments{place, place + 1, place + 2, second == nullptr ? nullptr : place + 2 + d};
    };
    parallel_for(pieces.size, n_threads, [&](Index p) {
        const Piece piece = pieces.pieces[p];
        const Moments out = places[p] < 0 ? result(piece.group) : part(p);
        const auto add = second == nullptr ? add_moments<T, false> : add_moments<T, true>;
        const Entry<T>* const entries = groups.items.data();
        add(x, entries + piece.begin, piece.end - piece.begin, entries + groups.items.size(), means + piece.group * d, out);
    });
    if (n_places == 0) return;
    parallel_for(n_components, n_threads, [&](Index c) {
        const Moments out = result(c);
        for (Index p = pieces.starts[c] + 1; p < pieces.starts[c + 1]; ++p) {
            const Moments more = part(p);
            *out.mass += *more.mass;
            *out.energy += *more.energy;
            for (Index j = 0; j < d; ++j) out.first[j] += more.first[j];
            for (Index j = 0; j < (second == nullptr ? 0 : d); ++j) out.second[j] += more.second[j];
        }
    });
}

// Adds up, for each component, what the M-step needs of the rows that have a share in it.
// IN x, shares, means (n_components x d);
// IN/OUT masses, energies (n_components), first (n_components x d), second (the same, or nullptr).
template <class Isa, class T>
void mixture_moments(const DenseRows<T>& x, const Shares<T>& shares, const T* means, Index n_components, double* masses,
                     double* energies, double* first, double* second, int n_threads) {
    // A row is read once for each of its shares, at different times: a chunk stays in the cache meanwhile.
    constexpr Index kChunkBytes = 16 << 20;
    const Index chunk = max_index(4096, kChunkBytes / (x.n_columns * static_cast<Index>(sizeof(T))));
    for (Index begin = 0; begin < x.n_rows; begin += chunk) {
        const Index n = min_index(chunk, x.n_rows - begin), m = shares.n_candidates;
        const bool selected = x.selection != nullptr;
        const DenseRows<T> rows{selected ? x.data : x.row(begin), n, x.n_columns, selected ? x.selection + begin : nullptr};
        const Shares<T> given{shares.candidates + begin * m, shares.shares + begin * m, shares.energies + begin * m,
                              shares.weights == nullptr ? nullptr : shares.weights + begin, m};
        add_chunk_to_moments(rows, given, means, n_components, masses, energies, first, second, n_threads);
    }
}

}  // namespace
}  // namespace coterie
