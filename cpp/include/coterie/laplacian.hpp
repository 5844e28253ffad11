// Memberships on a graph: one update is a product of a sparse matrix with a dense one, and a softmax (Ziko, Granger and
// Ben Ayed 2018, Eq. 8).
//
// Memberships and affinities lie row by row, each row padded to whole cache lines: those of a neighbour are one line for
// up to 16 clusters. In the padding affinities are minus infinity and memberships 0.
#pragma once

#include "exponential.hpp"
#include "parallel.hpp"
#include "scores.hpp"

namespace coterie {

// Compressed sparse rows.
template <class T>
struct WeightedGraph {
    const Index* starts;          // n_rows + 1
    const std::int32_t* columns;
    const T* weights;             // or nullptr: 1
    const T* diagonal;            // n_rows: weight of each row with itself, besides
    Index n_rows;
};

template <class T>
struct MembershipUpdate {
    const T* affinities;                 // n_rows x width: of the rows with the modes
    T lambda;
    T smallest_change;                   // of a membership; a row that changes less stays as it is
    Index width;                         // a multiple of kLanes
    const T* before;                     // n_rows x width: memberships z
    T* after;                            // OUT n_rows x width: those after it
    const std::uint8_t* moved_before;    // n_rows: whether the last update changed the row
    std::uint8_t* moved_after;
    T* rests;                            // IN/OUT n_rows: sum of the other memberships over the largest one
    double* attractions;                 // IN/OUT n_rows: sum over q of K_pq z_p . z_q, for `before`
    double* own_terms;                   // IN/OUT n_rows: z_p . log z_p - z_p . a_p, for `after`
};

namespace {

template <class Isa, class T>
struct MembershipScratch {
    Buffer<T> neighbors, logits;  // width
};

template <class V, class T, class Reduce>
inline T reduce_lanes(const V* vectors, Index n, T start, Reduce reduce) {
    constexpr Index L = sizeof(V) / sizeof(T);
    T out = start;
    for (Index v = 0; v < n; ++v)
        for (Index l = 0; l < L; ++l) out = reduce(out, vectors[v][l]);
    return out;
}

// Sums over a cache line of lanes, in the same order for any register width.
template <class Isa, class T>
inline T line_sum(const typename Isa::template Vector<T>* line) {
    alignas(64) T lanes[kLanes<T>];
    __builtin_memcpy(lanes, line, sizeof(lanes));
#pragma GCC unroll 4
    for (Index half = kLanes<T> / 2; half > 0; half /= 2)
#pragma GCC unroll 8
        for (Index l = 0; l < half; ++l) lanes[l] += lanes[l + half];
    return lanes[0];
}

template <class Isa, class T>
inline T line_maximum(const typename Isa::template Vector<T>* line) {
    alignas(64) T lanes[kLanes<T>];
    __builtin_memcpy(lanes, line, sizeof(lanes));
#pragma GCC unroll 4
    for (Index half = kLanes<T> / 2; half > 0; half /= 2)
#pragma GCC unroll 8
        for (Index l = 0; l < half; ++l) lanes[l] = lanes[l] > lanes[l + half] ? lanes[l] : lanes[l + half];
    return lanes[0];
}

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

// The new memberships of one row.
template <class Isa, class T>
void update_row(const WeightedGraph<T>& graph, const MembershipUpdate<T>& update, Index p,
                MembershipScratch<Isa, T>& scratch) {
    using V = typename Isa::template Vector<T>;
    constexpr Index L = sizeof(V) / sizeof(T), NV = 64 / sizeof(V);
    const Index width = update.width;
    const V* const own = reinterpret_cast<const V*>(update.before + p * width);
    const V* const affinities = reinterpret_cast<const V*>(update.affinities + p * width);
    V* const out = reinterpret_cast<V*>(update.after + p * width);
    V* const neighbors = reinterpret_cast<V*>(scratch.neighbors.data());
    V* const logits = reinterpret_cast<V*>(scratch.logits.data());
    V attraction[NV] = {}, highest[NV];
    for (Index v = 0; v < NV; ++v) highest[v] = V{} - infinity<T>();
    for (Index v = 0; v < width / L; v += NV) {
        V sum[NV];
        for (Index u = 0; u < NV; ++u) sum[u] = own[v + u] * graph.diagonal[p];
        for (Index e = graph.starts[p]; e < graph.starts[p + 1]; ++e) {
            const V* const other = reinterpret_cast<const V*>(update.before + graph.columns[e] * width) + v;
            const T weight = graph.weights == nullptr ? T(1) : graph.weights[e];
            for (Index u = 0; u < NV; ++u) sum[u] += other[u] * weight;
        }
        for (Index u = 0; u < NV; ++u) {
            neighbors[v + u] = sum[u];
            attraction[u] += own[v + u] * sum[u];
            const V logit = affinities[v + u] + sum[u] * update.lambda;
            logits[v + u] = logit;
            highest[u] = logit > highest[u] ? logit : highest[u];
        }
    }
    update.attractions[p] = static_cast<double>(line_sum<Isa, T>(attraction));
    const T most = line_maximum<Isa, T>(highest);
    // The largest is left out of the sum of the others: near 1, its distance from 1 is what tells rows apart.
    V others[NV] = {}, ties[NV] = {}, weighted[NV] = {};
    for (Index v = 0; v < width / L; v += NV)
        for (Index u = 0; u < NV; ++u) {
            const V share = exponential_of_negative<T>(logits[v + u] - most), zero = V{};
            others[u] += logits[v + u] == most ? zero : share;
            ties[u] += logits[v + u] == most ? zero + 1 : zero;
            weighted[u] += share * neighbors[v + u];
            logits[v + u] = share;
        }
    const T rest = line_sum<Isa, T>(others) + (line_sum<Isa, T>(ties) - 1);
    const T scale = 1 / (1 + rest);
    V change[NV] = {};
    for (Index v = 0; v < width / L; v += NV)
        for (Index u = 0; u < NV; ++u) {
            const V share = logits[v + u] * scale, difference = share - own[v + u];
            const V distance = difference < V{} ? -difference : difference;
            change[u] = distance > change[u] ? distance : change[u];
            out[v + u] = share;
        }
    const bool moved = line_maximum<Isa, T>(change) > update.smallest_change;
    update.moved_after[p] = moved;
    update.rests[p] = rest;
    if (moved)
        update.own_terms[p] = static_cast<double>(update.lambda * scale * line_sum<Isa, T>(weighted)) -
                              static_cast<double>(most) - log_one_plus(static_cast<double>(rest));
    else keep_row<Isa>(update, p);
}

// Whether anything changed that the memberships of a row depend on.
template <class T>
inline bool is_active(const WeightedGraph<T>& graph, const std::uint8_t* moved, Index p) {
    std::uint8_t any = moved[p];
    for (Index e = graph.starts[p]; e < graph.starts[p + 1]; ++e) any |= moved[graph.columns[e]];
    return any != 0;
}

// Neighbours lie anywhere: their memberships are asked for some rows ahead.
template <class T>
inline void prefetch_neighbors(const WeightedGraph<T>& graph, const MembershipUpdate<T>& update, Index p) {
    const Index most = min_index(update.width, 4 * kLanes<T>);
    for (Index e = graph.starts[p]; e < graph.starts[p + 1]; ++e)
        for (Index l = 0; l < most; l += kLanes<T>)
            __builtin_prefetch(update.before + graph.columns[e] * update.width + l);
}

// Updates the memberships of all rows at once. OUT sums (2 for each run of kQuantum rows): of attractions, for the
// memberships before; of own terms, for those after. Returns the number of rows that moved.
template <class Isa, class T>
Index update_memberships(const WeightedGraph<T>& graph, const MembershipUpdate<T>& update, double* sums, int n_threads) {
    constexpr Index kAhead = 8;
    const Index n_quanta = ceil_div(graph.n_rows, kQuantum);
    Buffer<Index> n_moved(n_quanta);
    const auto make_scratch = [&] {
        return MembershipScratch<Isa, T>{Buffer<T>(update.width), Buffer<T>(update.width)};
    };
    parallel_for(n_quanta, n_threads, make_scratch, [&](Index q, MembershipScratch<Isa, T>& scratch) {
        double attraction = 0, own = 0;
        Index moved = 0;
        for (Index p = q * kQuantum; p < min_index(graph.n_rows, (q + 1) * kQuantum); ++p) {
            if (p + kAhead < graph.n_rows) prefetch_neighbors(graph, update, p + kAhead);
            if (is_active(graph, update.moved_before, p)) update_row<Isa>(graph, update, p, scratch);
            else keep_row<Isa>(update, p);
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
