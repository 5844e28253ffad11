// Memberships on a graph: one update is a product of a sparse matrix with a dense one, and a softmax (Ziko, Granger and
// Ben Ayed 2018, Eq. 8).
//
// Memberships and affinities lie row by row, each row padded to whole cache lines: those of a neighbor are one line for
// up to 16 clusters. In the padding memberships are 0, and affinities do not matter.
#pragma once

#include "coterie/machine/buffer.hpp"
#include "coterie/machine/exponential.hpp"
#include "coterie/machine/lanes.hpp"
#include "coterie/machine/parallel.hpp"

namespace coterie {

// Compressed sparse rows.
template <class T>
struct WeightedGraph {
    const Index* starts;          // n_rows + 1
    const std::int32_t* columns;
    const T* weights;             // or nullptr: 1
    const T* diagonal;            // n_rows: additional weight of each row with itself
    Index n_rows;
};

template <class T>
struct MembershipUpdate {
    const T* affinities;                 // n_rows x width: of the rows with the modes
    T lambda;
    T smallest_change;                   // of a membership; a row that changes less is not updated
    Index n_clusters;
    Index width;                         // n_clusters, rounded up to a multiple of kLanes
    const T* before;                     // n_rows x width: memberships z
    T* after;                            // OUT n_rows x width: those after it
    const std::uint8_t* moved_before;    // n_rows: whether the last update changed the row
    std::uint8_t* moved_after;
    T* rests;                            // IN/OUT n_rows: sum of the other memberships over the largest one
    double* attractions;                 // IN/OUT n_rows: sum over q of K_pq z_p . z_q, for `before`
    double* own_terms;                   // IN/OUT n_rows: z_p . log z_p - z_p . a_p, for `after`
};

namespace {

// State of as many rows as a cache line has lanes.
template <class T>
struct MembershipScratch {
    Buffer<T> neighbors;  // rows x width: sums over their neighbors
    Buffer<T> columns;    // width x rows: logits, then memberships
};

template <class T>
struct alignas(64) Line {
    T values[kLanes<T>];
};

inline double log_one_plus(double x) { return x < 1e-4 ? x - 0.5 * x * x : __builtin_log(1 + x); }

template <class Isa, class T>
void keep_row(const MembershipUpdate<T>& update, Index p) {
    using V = typename Isa::template Vector<T>;
    constexpr Index L = sizeof(V) / sizeof(T);
    const V* const own = reinterpret_cast<const V*>(update.before + p * update.width);
    V* const out = reinterpret_cast<V*>(update.after + p * update.width);
    for (Index v = 0; v < update.width / L; ++v) out[v] = own[v];
    update.moved_after[p] = 0;
}

// Neighbors are at random addresses: their memberships are prefetched some rows ahead.
template <class T>
inline void prefetch_neighbors(const WeightedGraph<T>& graph, const MembershipUpdate<T>& update, Index p) {
    for (Index e = graph.starts[p]; e < graph.starts[p + 1]; ++e)
        for (Index l = 0; l < update.width; l += kLanes<T>)
            __builtin_prefetch(update.before + graph.columns[e] * update.width + l);
}

// The memberships of the neighbors of a row, added up.
template <class Isa, class T>
inline void sum_neighbors(const WeightedGraph<T>& graph, const MembershipUpdate<T>& update, Index p, T* out) {
    using V = typename Isa::template Vector<T>;
    constexpr Index L = sizeof(V) / sizeof(T), NV = 64 / sizeof(V);
    for (Index j = 0; j < update.width; j += NV * L) {
        const V* const own = reinterpret_cast<const V*>(update.before + p * update.width + j);
        V sum[NV];
        for (Index v = 0; v < NV; ++v) sum[v] = own[v] * graph.diagonal[p];
        for (Index e = graph.starts[p]; e < graph.starts[p + 1]; ++e) {
            const V* const other = reinterpret_cast<const V*>(update.before + graph.columns[e] * update.width + j);
            const T weight = graph.weights == nullptr ? T(1) : graph.weights[e];
            for (Index v = 0; v < NV; ++v) sum[v] += other[v] * weight;
        }
        for (Index v = 0; v < NV; ++v) reinterpret_cast<V*>(out + j)[v] = sum[v];
    }
}

// The sums over the neighbors of some rows, and their logits in columns.
template <class Isa, class T>
Line<T> attract(const WeightedGraph<T>& graph, const MembershipUpdate<T>& update, const Index* rows, Index n_listed,
                MembershipScratch<T>& scratch) {
    using V = typename Isa::template Vector<T>;
    constexpr Index W = kLanes<T>, NV = 64 / sizeof(V), kLinesAhead = 16;
    const Index ahead = max_index(2, kLinesAhead * W / update.width);
    for (Index r = 0; r < W; ++r) {
        if (r + ahead < n_listed) prefetch_neighbors(graph, update, rows[r + ahead]);
        sum_neighbors<Isa>(graph, update, rows[r], scratch.neighbors.data() + r * update.width);
    }
    Square<Isa, T> attractions{};
    for (Index j = 0; j < update.width; j += W) {
        Square<Isa, T> logits;
        for (Index r = 0; r < W; ++r) {
            const Index at = rows[r] * update.width + j;
            const V* const own = reinterpret_cast<const V*>(update.before + at);
            const V* const affinities = reinterpret_cast<const V*>(update.affinities + at);
            const V* const sum = reinterpret_cast<const V*>(scratch.neighbors.data() + r * update.width + j);
            for (Index v = 0; v < NV; ++v) {
                attractions.lines[r][v] += own[v] * sum[v];
                logits.lines[r][v] = affinities[v] + sum[v] * update.lambda;
            }
        }
        logits.transpose();
        __builtin_memcpy(scratch.columns.data() + j * W, &logits, sizeof(logits));
    }
    Line<T> out;
    attractions.reduce_lines(out.values, Sum{});
    return out;
}

// Turns columns of logits into columns of memberships.
template <class Isa, class T>
void normalize(T* columns, Index n_clusters, Index width, Line<T>& highest, Line<T>& rests) {
    using V = typename Isa::template Vector<T>;
    constexpr Index L = sizeof(V) / sizeof(T), NV = 64 / sizeof(V);
    for (Index v = 0; v < NV; ++v) {
        V* const logits = reinterpret_cast<V*>(columns) + v;
        V most = logits[0];
        for (Index c = 1; c < n_clusters; ++c) most = logits[c * NV] > most ? logits[c * NV] : most;
        // The sum without the largest: near 1, rows differ only in the distance from 1.
        V others = V{}, ties = V{} - 1;
        for (Index c = 0; c < n_clusters; ++c) {
            const V logit = logits[c * NV], share = exponential_of_negative<T>(logit - most), zero = V{};
            others += logit == most ? zero : share;
            ties += logit == most ? zero + 1 : zero;
            logits[c * NV] = share;
        }
        const V rest = others + ties, scale = 1 / (1 + rest);
        for (Index c = 0; c < n_clusters; ++c) logits[c * NV] *= scale;
        for (Index c = n_clusters; c < width; ++c) logits[c * NV] = V{};
        *reinterpret_cast<V*>(highest.values + v * L) = most;
        *reinterpret_cast<V*>(rests.values + v * L) = rest;
    }
}

// Writes columns of memberships to their rows. OUT weighted: their products with the sums over the neighbors;
// changes: the largest of each row.
template <class Isa, class T>
void spread(const MembershipUpdate<T>& update, const Index* rows, const MembershipScratch<T>& scratch,
            Line<T>& weighted, Line<T>& changes) {
    using V = typename Isa::template Vector<T>;
    constexpr Index W = kLanes<T>, NV = 64 / sizeof(V);
    Square<Isa, T> products{}, largest{};
    for (Index j = 0; j < update.width; j += W) {
        Square<Isa, T> shares;
        __builtin_memcpy(&shares, scratch.columns.data() + j * W, sizeof(shares));
        shares.transpose();
        for (Index r = 0; r < W; ++r) {
            const Index at = rows[r] * update.width + j;
            const V* const own = reinterpret_cast<const V*>(update.before + at);
            const V* const neighbors = reinterpret_cast<const V*>(scratch.neighbors.data() + r * update.width + j);
            V* const out = reinterpret_cast<V*>(update.after + at);
            for (Index v = 0; v < NV; ++v) {
                const V share = shares.lines[r][v], difference = share - own[v];
                const V distance = difference < V{} ? -difference : difference;
                largest.lines[r][v] = distance > largest.lines[r][v] ? distance : largest.lines[r][v];
                products.lines[r][v] += share * neighbors[v];
                out[v] = share;
            }
        }
    }
    products.reduce_lines(weighted.values, Sum{});
    largest.reduce_lines(changes.values, Greatest<Isa>{});
}

// The new memberships of the first rows of a list, as many as a cache line has lanes; beyond its end it repeats the last.
template <class Isa, class T>
void update_rows(const WeightedGraph<T>& graph, const MembershipUpdate<T>& update, const Index* rows, Index n_listed,
                 MembershipScratch<T>& scratch) {
    Line<T> highest, rests, weighted, changes;
    const Line<T> attractions = attract<Isa>(graph, update, rows, n_listed, scratch);
    normalize<Isa>(scratch.columns.data(), update.n_clusters, update.width, highest, rests);
    spread<Isa>(update, rows, scratch, weighted, changes);
    for (Index r = 0; r < min_index(n_listed, kLanes<T>); ++r) {
        const Index p = rows[r];
        const bool moved = changes.values[r] > update.smallest_change;
        update.attractions[p] = static_cast<double>(attractions.values[r]);
        update.moved_after[p] = moved;
        update.rests[p] = rests.values[r];
        if (moved)
            update.own_terms[p] = static_cast<double>(update.lambda * weighted.values[r]) -
                                  static_cast<double>(highest.values[r]) -
                                  log_one_plus(static_cast<double>(rests.values[r]));
        else keep_row<Isa>(update, p);
    }
}

// Whether an input of the memberships of a row has changed.
template <class T>
inline bool is_active(const WeightedGraph<T>& graph, const std::uint8_t* moved, Index p) {
    std::uint8_t any = moved[p];
    for (Index e = graph.starts[p]; e < graph.starts[p + 1]; ++e) any |= moved[graph.columns[e]];
    return any != 0;
}

// Updates the memberships of all rows at once. OUT sums (2 for each run of kQuantum rows): of attractions, for the
// memberships before; of own terms, for those after. Returns the number of rows that moved.
template <class Isa, class T>
Index update_memberships(const WeightedGraph<T>& graph, const MembershipUpdate<T>& update, double* sums, int n_threads) {
    constexpr Index W = kLanes<T>;
    const Index n_quanta = ceil_div(graph.n_rows, kQuantum);
    Buffer<Index> n_moved(n_quanta);
    const auto make_scratch = [&] { return MembershipScratch<T>{Buffer<T>(W * update.width), Buffer<T>(W * update.width)}; };
    parallel_for(n_quanta, n_threads, make_scratch, [&](Index q, MembershipScratch<T>& scratch) {
        const Index begin = q * kQuantum, end = min_index(graph.n_rows, begin + kQuantum);
        Index active[kQuantum + W], n = 0;
        for (Index p = begin; p < end; ++p) {
            if (is_active(graph, update.moved_before, p)) active[n++] = p;
            else keep_row<Isa>(update, p);
        }
        for (Index r = n; r < n + W && n > 0; ++r) active[r] = active[n - 1];
        for (Index first = 0; first < n; first += W) update_rows<Isa>(graph, update, active + first, n - first, scratch);
        double attraction = 0, own = 0;
        Index moved = 0;
        for (Index p = begin; p < end; ++p) {
            attraction += update.attractions[p];
            own += update.own_terms[p];
            moved += update.moved_after[p];
        }
        sums[2 * q] = attraction;
        sums[2 * q + 1] = own;
        n_moved[q] = moved;
    });
    Index total = 0;
    for (Index q = 0; q < n_quanta; ++q) total += n_moved[q];
    return total;
}

}  // namespace
}  // namespace coterie
