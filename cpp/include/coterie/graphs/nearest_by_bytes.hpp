// The points that may be among the m nearest of each row, by products of bytes (quantized.hpp).
//
// A product bounds the squared distance of a row and a point, less the row's own square, from both sides. Each row keeps
// the m least upper ends so far, the last of which is its limit, and all points whose lower end is not above the limit.
// Where rows are points, each product serves both.
#pragma once

#include <type_traits>

#include "coterie/centers/quantized.hpp"
#include "coterie/machine/lanes.hpp"

namespace coterie {

// IN/OUT. The lists of rows. Lengths are in the unit of the bytes.
struct NearLists {
    Index m, capacity;
    float* limits;        // one for each row; -infinite if too many points are near
    float* uppers;        // m for each row, ascending
    float* lowers;        // capacity for each row
    std::int32_t *ids;    // the same
    std::int32_t* sizes;  // one for each row
};

// Rows, with the number of the first one in `NearLists` and in ids.
template <class T>
struct NearBlock {
    DenseRows<T> rows;  // relative to a point amid them
    Index first;
};

namespace {

// Drops the points that are above the limit of a row; returns how many are left.
inline Index drop_far(const NearLists& lists, Index row) {
    float* const lowers = lists.lowers + row * lists.capacity;
    std::int32_t* const ids = lists.ids + row * lists.capacity;
    std::int32_t left = 0;
    for (std::int32_t e = 0; e < lists.sizes[row]; ++e) {
        lowers[left] = lowers[e];
        ids[left] = ids[e];
        left += !(lowers[e] > lists.limits[row]);
    }
    return lists.sizes[row] = left;
}

inline void add_near(const NearLists& lists, Index row, std::int32_t id, float lower, float upper) {
    float* const uppers = lists.uppers + row * lists.m;
    if (upper < lists.limits[row]) {
        Index at = lists.m - 1;
        for (; at > 0 && upper < uppers[at - 1]; --at) uppers[at] = uppers[at - 1];
        uppers[at] = upper;
        lists.limits[row] = uppers[lists.m - 1];
    }
    if (lists.sizes[row] == lists.capacity && drop_far(lists, row) == lists.capacity) {
        lists.limits[row] = -infinity<float>();
        return;
    }
    const Index at = row * lists.capacity + lists.sizes[row]++;
    lists.lowers[at] = lower;
    lists.ids[at] = id;
}

// Rows in 8 bits that are compared with panels of points; row i of `rows` has the number first + i in the lists, slot s of
// the panels the number first_point + s. kBoth: each product serves the row and the point.
template <bool kBoth>
struct NearRows {
    const std::int8_t* values;
    const QuantizedVector* rows;
    const NearLists& lists;
    Index first, first_point;

    Index number(Index i) const { return i; }
    template <class Isa, int C, class V>
    inline __attribute__((always_inline)) void take(Index i, Index p, const BytePanels<Isa, C>& panels,
                                                    const V* products) const {
        using Loaded = typename Isa::template UnalignedVector<float>;
        constexpr Index L = sizeof(V) / 4;
        const QuantizedVector& x = rows[i];
        const Index at = p * C * L;
        const float own = x.square - x.slack;
        const V length = V{} - 2 * x.length, error = V{} - 2 * x.error, scale = V{} - 2 * x.scale;
        V least[C], nearest = V{} + infinity<float>(), met = V{} + infinity<float>();
#pragma GCC unroll 4
        for (int c = 0; c < C; ++c) {
            const auto of = [&](const Buffer<float>& values) {
                return *reinterpret_cast<const V*>(values.data() + at + c * L);
            };
            least[c] = products[c] * scale +
                       (of(panels.own_errors) * length + (of(panels.own_lengths) * error - of(panels.own_slack)));
            nearest = Isa::least(least[c] + of(panels.squares), nearest);
            if constexpr (kBoth) {
                const V limits = *reinterpret_cast<const Loaded*>(lists.limits + first_point + at + c * L);
                met = Isa::least((least[c] + own) - limits, met);
            }
        }
        if (Isa::any_below(nearest, V{} + (lists.limits[first + i] + x.slack))) add_points<false>(i, at, panels, least);
        if constexpr (kBoth)
            if (Isa::any_below(met, V{})) add_points<true>(i, at, panels, least);
    }

    // Adds the points of a panel to the list of row i, or the row to their lists.
    template <bool kToPoints, class Isa, int C, class V>
    __attribute__((noinline)) void add_points(Index i, Index at, const BytePanels<Isa, C>& panels, const V* least) const {
        using Loaded = typename Isa::template UnalignedVector<float>;
        constexpr Index L = sizeof(V) / 4, W = kLanes<float>, kSlots = BytePanels<Isa, C>::kSlots;
        const QuantizedVector& x = rows[i];
        const auto row = static_cast<std::int32_t>(first + i);
        alignas(kLineBytes) float lowers[kSlots], above[kSlots];  // how far they are above the limits
        for (Index s = 0; s < kSlots; s += L) {
            const V squares = kToPoints ? V{} + x.square : *reinterpret_cast<const V*>(panels.squares.data() + at + s);
            const V lower = *reinterpret_cast<const V*>(reinterpret_cast<const float*>(least) + s) + (squares - x.slack);
            *reinterpret_cast<V*>(lowers + s) = lower;
            const V limits = kToPoints ? V(*reinterpret_cast<const Loaded*>(lists.limits + first_point + at + s))
                                       : V{} + lists.limits[row];
            *reinterpret_cast<V*>(above + s) = lower - limits;
        }
        for (Index s = 0; s < kSlots; s += W)
            for (unsigned below = Isa::below(above + s, 0.0f); below != 0; below &= below - 1) {
                const Index lane = s + __builtin_ctz(below), slot = at + lane;
                const auto point = static_cast<std::int32_t>(first_point + slot);
                const std::int32_t list = kToPoints ? point : row;
                if (!(lowers[lane] < lists.limits[list]) || panels.ids[slot] < 0) continue;
                const float error = x.length * panels.own_errors[slot] + x.error * panels.own_lengths[slot];
                add_near(lists, list, kToPoints ? row : point, lowers[lane],
                         lowers[lane] + 4 * error + 2 * (panels.own_slack[slot] + x.slack));
            }
    }
};

// Compares each row with each point. The lists of both are brought up to date where `serves_points`: then the points have
// lists, too; if they are the rows, each pair is compared once.
// IN x, points, unit (see `quantize`); IN/OUT lists.
template <class Isa, class T>
void nearest_by_bytes(const NearBlock<T>& x, const NearBlock<T>& points, T unit, bool serves_points,
                      const NearLists& lists, int n_threads) {
    if constexpr (BytesOf<Isa>::kExists) {
        constexpr int C = BytesOf<Isa>::kVectors;
        constexpr Index kSlots = BytePanels<Isa, C>::kSlots, kPanels = 512 / kSlots, kBlock = kPanels * kSlots, kChunk = 48;
        const Index n = x.rows.n_rows;
        const auto panels = pack_bytes<Isa, C>(quantize_rows<Isa>(points.rows, nullptr, unit, n_threads), nullptr,
                                               points.rows.n_rows, x.rows.n_columns, n_threads);
        const QuantizedRows rows = quantize_rows<Isa>(x.rows, nullptr, unit, n_threads);
        for (Index i = 0; i < n; ++i)
            if (!(rows.vectors[i].scale < infinity<float>())) lists.limits[x.first + i] = -infinity<float>();
        // Rows of a block with the points of another one, a few rows at a time, which stay in the cache.
        const auto compare = [&](Index block, Index other, auto both) {
            const NearRows<decltype(both)::value> compared{rows.values.data(), rows.vectors.data(), lists, x.first,
                                                              points.first};
            const Index end = min_index(n, (block + 1) * kBlock);
            for (Index first = block * kBlock; first < end; first += kChunk)
                for (Index p = other * kPanels; p < min_index(panels.n_panels, (other + 1) * kPanels); ++p)
                    byte_tiles<Isa, BytesOf<Isa>::kRows, C>(compared, first, min_index(end, first + kChunk), panels, p);
        };
        const Index n_blocks = ceil_div(n, kBlock), n_others = ceil_div(panels.n_panels, kPanels);
        if (!serves_points) {
            parallel_for(n_blocks, n_threads, [&](Index block) {
                for (Index other = 0; other < n_others; ++other) compare(block, other, std::false_type());
            });
            return;
        }
        // In each round the pairs of blocks have no list in common. Pairs of a block with itself come first: they bring the
        // limits close to what they will be.
        const bool are_points = x.first == points.first;
        if (are_points)
            parallel_for(n_blocks, n_threads, [&](Index block) { compare(block, block, std::false_type()); });
        const Index n_rounds = max_index(n_blocks, n_others);
        for (Index round = 0; round < n_rounds; ++round)
            parallel_for(n_blocks, n_threads, [&](Index block) {
                const Index other = (are_points ? round - block + n_rounds : round + block) % n_rounds;
                if (other < n_others && (!are_points || block < other)) compare(block, other, std::true_type());
            });
    }
}

}  // namespace
}  // namespace coterie
