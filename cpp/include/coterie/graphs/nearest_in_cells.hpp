// Nearest neighbors by products within overlapping cells.
//
// A row belongs to the cell of its nearest center, and visits each cell whose border with its own is near. It is compared
// with the points of its own cell, with the points that visit this cell, and with those of the cells that it visits. So a
// pair is compared if either of the two visits the cell of the other, and only once.
#pragma once

#include <algorithm>

#include "coterie/centers/quantized.hpp"
#include "coterie/centers/scores.hpp"
#include "coterie/centers/sorted_lists.hpp"

namespace coterie {

// Points in overlapping cells.
template <class T>
struct CellPoints {
    DenseRows<T> rows;
    const T* offsets;             // n_points: their squared lengths
    const std::int32_t* order;    // n_points: those of one cell together
    const Index* starts;          // n_cells + 1: those of each cell in `order`
    const std::int32_t* visitors; // the points that visit each cell
    const Index* visitor_starts;  // n_cells + 1
    Index n_cells;
};

// The cells that each row looks into.
struct CellVisits {
    const Index* row_order;     // n_listed: rows of one cell lie together
    const std::int32_t* own;    // n_rows: the cell of each row
    const Index* starts;        // n_rows + 1
    const std::int32_t* cells;  // the cells that each row visits, ascending
    Index n_listed;
};

namespace {

// The cell of each row, and which others it visits: those whose border with its own is at most half of `reach` away. The
// distance of x in the cell of a to the border with that of c is (|x - c|^2 - |x - a|^2) / (2 |a - c|).
// IN x, centers, gaps (n_centers x width: distances between centers, 0 beyond the last one; width in whole panels);
// OUT own (n_rows), visited (n_rows x n_panels: a bit for each center of a panel).
template <class Isa, class T>
void cells_in_reach(const DenseRows<T>& x, const Centers<T>& centers, const T* gaps, T reach, std::int32_t* own,
                    std::uint16_t* visited, int n_threads) {
    constexpr Index W = kLanes<T>, H = Isa::kTileHeight;
    const Panels<T> panels = pack<DenseRows<T>>(centers, nullptr, centers.n_centers, n_threads);
    const Index n_panels = panels.n_panels;
    const auto make_scores = [&] { return Buffer<T>(n_panels * H * W); };
    parallel_for(ceil_div(x.n_rows, H), n_threads, make_scores, [&](Index task, Buffer<T>& scores) {
        Index which[H], first = task * H, n = min_index(H, x.n_rows - first);
        for (Index r = 0; r < n; ++r) which[r] = first + r;
        score_slab<Isa>(x, which, n, panels, 0, n_panels, H * W, scores.data());
        for (Index r = 0; r < n; ++r) {
            T best = infinity<T>();
            own[first + r] = 0;
            for (Index p = 0; p < n_panels; ++p) {
                const auto id = [&](int lane) { return static_cast<std::int32_t>(p * W + lane); };
                insert_lanes<Isa>(scores.data() + (p * H + r) * W, id, 1, &best, own + first + r);
            }
            const T* const gap = gaps + own[first + r] * n_panels * W;
            for (Index p = 0; p < n_panels; ++p) {
                alignas(kLineBytes) T nearer[W];
                for (Index l = 0; l < W; ++l) nearer[l] = scores[(p * H + r) * W + l] - reach * gap[p * W + l];
                visited[(first + r) * n_panels + p] = static_cast<std::uint16_t>(Isa::below(nearer, best));
            }
        }
    });
}

// The lowest scores of one row and their ids; ties in the order of insertion. A sorted list moves half of its entries for
// each score that enters; here scores are appended, and the highest are dropped when the list is full.
template <class Isa, class T>
class Shortlist {
   public:
    using Number = T;
    static constexpr Index W = kLanes<T>;

    // Capacity of a list that ends with m entries, in whole cache lines.
    static Index capacity(Index m) { return ceil_div(m + max_index(4 * W, m), W) * W; }

    Shortlist() = default;
    // IN/OUT scores (aligned to a cache line), ids: `capacity` of them, scratch.
    Shortlist(T* scores, std::int32_t* ids, Index m) : scores_(scores), ids_(ids), m_(m) {}

    T bound() const { return bound_; }

    // Inserts the scores of a panel that may be among the lowest, without points that have been met.
    inline void add_lanes(const T* lanes, const std::int32_t* points, const std::uint8_t* is_met) {
        for (unsigned below = Isa::below(lanes, bound_); below != 0; below &= below - 1) {
            const int lane = __builtin_ctz(below);
            scores_[size_] = lanes[lane];
            ids_[size_] = points[lane];
            size_ += !is_met[points[lane]];
        }
        if (size_ > capacity(m_) - W) shrink();
    }

    // OUT ids (m): ascending by score; -1 where there are too few.
    void finish(std::int32_t* ids) {
        shrink();
        for (Index e = 0; e < size_; ++e) insert_sorted(scores_, ids_, e + 1, scores_[e], ids_[e]);
        for (Index k = 0; k < m_; ++k) ids[k] = k < size_ ? ids_[k] : -1;
    }

    // Drops scores until at least m, and few more, are left.
    void shrink() {
        if (size_ <= m_) return;
        const Index most = m_ + W;
        for (Index e = size_; e < ceil_div(size_, W) * W; ++e) scores_[e] = infinity<T>();
        T low = -infinity<T>(), high = infinity<T>();  // fewer than m are below `low`, more than `most` below `high`
        for (Index e = 0; e < size_;) {
            const T pivot = scores_[e];
            if (!(low < pivot && pivot < high)) {
                ++e;
                continue;
            }
            const Index n = n_below(pivot);
            if (n < m_) low = pivot;
            else high = pivot;
            if (n >= m_ && n <= most) break;
        }
        // No score is between them now, or few enough are below `high`; the rest are equal to `low`.
        const bool is_cut = high < infinity<T>() && n_below(high) <= most;
        Index n_equal = is_cut ? 0 : m_ - n_below(low), kept = 0;
        const T bound = is_cut ? high : low;
        for (Index e = 0; e < size_; ++e) {
            const T score = scores_[e];
            bool stays = score < bound;
            if (!stays && score == bound && n_equal > 0) {
                --n_equal;
                stays = true;
            }
            scores_[kept] = score;
            ids_[kept] = ids_[e];
            kept += stays;
        }
        size_ = kept;
        bound_ = bound;
    }

   private:
    Index n_below(T bound) const {
        Index n = 0;
        for (Index e = 0; e < size_; e += W) n += __builtin_popcount(Isa::below(scores_ + e, bound));
        return n;
    }

    T* scores_ = nullptr;
    std::int32_t* ids_ = nullptr;
    Index m_ = 0, size_ = 0;
    T bound_ = infinity<T>();
};

// Rows of a task are compared with a panel: row first + asking[i] of all for the list asking[i], without points that are met.
template <class Isa, class T>
struct CellFloats {
    using List = Shortlist<Isa, T>;
    using Packed = Panels<T>;
    static constexpr Index kSlots = kLanes<T>;
    CellPoints<T> points;

    DenseRows<T> prepared(const DenseRows<T>& x, int) const { return x; }
    Packed packed(const std::int32_t* order, Index n_slots, int n_threads) const {
        return pack<DenseRows<T>>({points.rows.data, points.offsets, points.rows.n_rows, points.rows.n_columns}, order, n_slots,
                                  n_threads);
    }
    void compare(const DenseRows<T>& x, Index first, const Index* asking, Index n, const Packed& panels, Index p,
                 const std::uint8_t* is_met, List* lists) const {
        constexpr Index W = kLanes<T>, H = Isa::kTileHeight, kStep = H < 4 ? 1 : H / 4;
        for (; n > 0; n -= H, asking += H) {
            const Index n_rows = min_index(H, n);
            alignas(kLineBytes) T tile[H * W];
            const T* places[H];
            // Few rows alone would wait for their sums: the last one stands in for those that are missing.
            const Index n_padded = min_index(H, ceil_div(n_rows, kStep) * kStep);
            for (Index r = 0; r < n_padded; ++r) places[r] = x.row(first + asking[min_index(r, n_rows - 1)]);
            dense_tiles<Isa, T, H, 64>(places, n_padded, x.n_columns, panels.panel(p), panels.panel_offsets(p), tile);
            for (Index r = 0; r < n_rows; ++r) lists[asking[r]].add_lanes(tile + r * W, panels.panel_ids(p), is_met);
        }
    }
};

// Products of rounded vectors. With the lengths of rounded points, scores give distances of rounded vectors, which hardly
// differ from those of near ones.
template <class Isa, class T>
struct CellBytes {
    using List = Shortlist<Isa, float>;
    static constexpr int C = Isa::kRegisterBytes == 64 ? 2 : BytesOf<Isa>::kVectors;
    using Packed = BytePanels<Isa, C>;
    static constexpr Index kSlots = Packed::kSlots;
    CellPoints<T> points;
    T unit;
    QuantizedRows rounded;

    CellBytes(const CellPoints<T>& given, T scale, int n_threads)
        : points(given), unit(scale), rounded(prepared(given.rows, n_threads)) {}
    QuantizedRows prepared(const DenseRows<T>& x, int n_threads) const { return quantize_rows<Isa>(x, nullptr, unit, n_threads); }
    Packed packed(const std::int32_t* order, Index n_slots, int n_threads) const {
        Packed out = pack_bytes<Isa, C>(rounded, order, n_slots, points.rows.n_columns, n_threads);
        for (Index slot = 0; slot < out.ids.size(); ++slot)
            if (out.ids[slot] >= 0) {
                const float length = out.own_lengths[slot] - out.own_errors[slot];
                const float offset = static_cast<float>(points.offsets[out.ids[slot]] * unit * unit);
                out.squares[slot] = offset + (length * length - out.squares[slot]);
            }
        return out;
    }

    struct Rows {
        const std::int8_t* values;
        const QuantizedVector* rows;
        const Index* asking;
        const std::uint8_t* is_met;
        List* lists;

        Index number(Index i) const { return asking[i]; }
        template <class V>
        inline __attribute__((always_inline)) void take(Index i, Index p, const Packed& panels, const V* products) const {
            const V scale = V{} - 2 * rows[asking[i]].scale;
            V scores[C], lowest = V{} + infinity<float>();
#pragma GCC unroll 4
            for (int c = 0; c < C; ++c) {
                scores[c] = products[c] * scale + reinterpret_cast<const V*>(panels.squares.data() + p * kSlots)[c];
                lowest = Isa::least(scores[c], lowest);
            }
            List& list = lists[asking[i]];
            if (Isa::any_below(lowest, V{} + list.bound())) add(list, panels.ids.data() + p * kSlots, scores);
        }
        template <class V>
        __attribute__((noinline)) void add(List& list, const std::int32_t* ids, const V* scores) const {
            for (Index s = 0; s < kSlots; s += kLanes<float>)
                list.add_lanes(reinterpret_cast<const float*>(scores) + s, ids + s, is_met);
        }
    };
    void compare(const QuantizedRows& x, Index first, const Index* asking, Index n, const Packed& panels, Index p,
                 const std::uint8_t* is_met, List* lists) const {
        const std::int8_t* const values = x.values.data() + first * byte_width(points.rows.n_columns);
        byte_tiles<Isa, BytesOf<Isa>::kRows * BytesOf<Isa>::kVectors / C, C>(
            Rows{values, x.vectors.data() + first, asking, is_met, lists}, 0, n, panels, p);
    }
};

template <class Products, class T>
void search_cells(const Products& products, const DenseRows<T>& x, const CellPoints<T>& points, const CellVisits& visits,
                  Index m, std::int32_t* ids, int n_threads) {
    using List = typename Products::List;
    using Number = typename List::Number;
    constexpr Index kSlots = Products::kSlots, kRows = 192, kVisitors = 512;
    const Index n_cells = points.n_cells, capacity = List::capacity(m);
    Buffer<Index> panel_starts(n_cells + 1), tasks(visits.n_listed + 1);
    Buffer<std::int32_t> order(points.rows.n_rows + n_cells * kSlots);  // each cell fills whole panels
    order.fill(-1);
    panel_starts[0] = 0;
    for (Index c = 0; c < n_cells; ++c) {
        for (Index i = points.starts[c]; i < points.starts[c + 1]; ++i)
            order[panel_starts[c] * kSlots + i - points.starts[c]] = points.order[i];
        panel_starts[c + 1] = panel_starts[c] + ceil_div(points.starts[c + 1] - points.starts[c], kSlots);
    }
    const auto panels = products.packed(order.data(), panel_starts[n_cells] * kSlots, n_threads);
    const auto& rows = products.prepared({x.data, visits.n_listed, x.n_columns, visits.row_order}, n_threads);
    Index n_tasks = 0;
    for (Index i = 0; i < visits.n_listed; ++i)
        if (i == 0 || visits.own[visits.row_order[i]] != visits.own[visits.row_order[i - 1]] ||
            i - tasks[n_tasks - 1] == kRows)
            tasks[n_tasks++] = i;
    tasks[n_tasks] = visits.n_listed;
    struct Scratch {
        Buffer<std::uint8_t> is_met;  // of each point: whether it visits the cell of the task
        Buffer<Number> scores;
        Buffer<std::int32_t> ids;
    };
    const auto make_scratch = [&] {
        Scratch scratch{Buffer<std::uint8_t>(points.rows.n_rows), Buffer<Number>(kRows * capacity),
                        Buffer<std::int32_t>(kRows * capacity)};
        scratch.is_met.fill(0);
        return scratch;
    };
    parallel_for(n_tasks, n_threads, make_scratch, [&](Index task, Scratch& scratch) {
        const Index first = tasks[task], n_rows = tasks[task + 1] - first, *const numbers = visits.row_order + first;
        const Index own = visits.own[numbers[0]], n_visitors = points.visitor_starts[own + 1] - points.visitor_starts[own];
        const std::int32_t* const visitors = points.visitors + points.visitor_starts[own];
        List lists[kRows];
        Index asking[kRows], n_pairs = 0;
        const auto compare = [&](Index n, const auto& some, Index begin, Index end) {
            for (Index p = begin; p < end; ++p)
                products.compare(rows, first, asking, n, some, p, scratch.is_met.data(), lists);
        };
        for (Index r = 0; r < n_rows; ++r) {
            lists[r] = {scratch.scores.data() + r * capacity, scratch.ids.data() + r * capacity, m};
            asking[r] = r;
            n_pairs += visits.starts[numbers[r] + 1] - visits.starts[numbers[r]];
        }
        compare(n_rows, panels, panel_starts[own], panel_starts[own + 1]);
        for (Index r = 0; r < n_rows; ++r) lists[r].shrink();
        for (Index v = 0; v < n_visitors; v += kVisitors) {
            const auto some = products.packed(visitors + v, min_index(kVisitors, n_visitors - v), 1);
            compare(n_rows, some, 0, some.n_panels);
        }
        Buffer<Index> pairs(n_pairs);  // cell * kRows + row
        n_pairs = 0;
        for (Index r = 0; r < n_rows; ++r)
            for (Index v = visits.starts[numbers[r]]; v < visits.starts[numbers[r] + 1]; ++v)
                pairs[n_pairs++] = visits.cells[v] * kRows + r;
        std::sort(pairs.data(), pairs.data() + n_pairs, [](Index a, Index b) { return a < b; });
        for (Index v = 0; v < n_visitors; ++v) scratch.is_met[visitors[v]] = 1;
        for (Index i = 0; i < n_pairs;) {
            Index n = 0, c = pairs[i] / kRows;
            for (; i < n_pairs && pairs[i] / kRows == c; ++i) asking[n++] = pairs[i] % kRows;
            compare(n, panels, panel_starts[c], panel_starts[c + 1]);
        }
        for (Index v = 0; v < n_visitors; ++v) scratch.is_met[visitors[v]] = 0;
        for (Index r = 0; r < n_rows; ++r) lists[r].finish(ids + numbers[r] * m);
    });
}

// The points of lowest score |y|^2 - 2 x.y among those that each listed row is compared with. What is found for a row
// depends on no other row. A task is some rows of one cell.
// IN x, points, visits, unit (see `quantize`; 0: by floats); OUT ids (n_rows x m, of the rows listed): ascending by score; -1
// where there are too few.
template <class Isa, class T>
void nearest_in_cells(const DenseRows<T>& x, const CellPoints<T>& points, const CellVisits& visits, T unit, Index m,
                      std::int32_t* ids, int n_threads) {
    if constexpr (BytesOf<Isa>::kExists)
        if (unit > 0)
            return search_cells(CellBytes<Isa, T>(points, unit, n_threads), x, points, visits, m, ids, n_threads);
    search_cells(CellFloats<Isa, T>{points}, x, points, visits, m, ids, n_threads);
}

}  // namespace
}  // namespace coterie
