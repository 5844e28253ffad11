// Points in a balanced binary tree of boxes: a k-d tree, split at the median of the column of largest variance.
#pragma once

#include <algorithm>

#include "coterie/centers/differences.hpp"

namespace coterie {

// Node j of level l has the points n j / 2^l .. n (j + 1) / 2^l - 1, and nodes 2 j and 2 j + 1 of the next level; it is
// number 2^l - 1 + j. The nodes of the last level are the leaves. Rows of numbers are padded with zeros to a width of
// whole cache lines, and begin at one.
template <class T>
struct BoxTree {
    std::int32_t* order;  // n_points: their numbers
    T* points;            // n_points x width, by order
    T* lower;             // n_nodes x width: the boxes
    T* upper;
    Index n_points, n_columns, width, last_level;

    Index n_leaves() const { return Index{1} << last_level; }
    Index n_nodes() const { return 2 * n_leaves() - 1; }
    Index begin(Index level, Index j) const { return n_points * j >> level; }
};

// Points of a leaf, at most.
inline constexpr Index kLeafPoints = 16;

namespace {

template <class T>
Index column_of_largest_variance(const T* points, const std::int32_t* ids, Index n, Index n_columns, T* sums) {
    constexpr Index kSample = 64;
    const Index step = ceil_div(n, kSample), n_drawn = ceil_div(n, step);
    const T* const origin = points + ids[0] * n_columns;
    for (Index j = 0; j < 2 * n_columns; ++j) sums[j] = 0;
    for (Index i = 0; i < n; i += step) {
        const T* const point = points + ids[i] * n_columns;
        for (Index j = 0; j < n_columns; ++j) {
            const T difference = point[j] - origin[j];
            sums[j] += difference;
            sums[n_columns + j] += difference * difference;
        }
    }
    Index column = 0;
    T largest = -1;
    for (Index j = 0; j < n_columns; ++j) {
        const T variance = sums[n_columns + j] - sums[j] * (sums[j] / static_cast<T>(n_drawn));
        if (variance > largest) {
            largest = variance;
            column = j;
        }
    }
    return column;
}

// IN points (n_points x n_columns); OUT tree.
template <class Isa, class T>
void box_tree(const T* points, const BoxTree<T>& tree, int n_threads) {
    const Index n = tree.n_points, n_columns = tree.n_columns, width = tree.width, last_level = tree.last_level;
    const Index n_leaves = tree.n_leaves();
    std::int32_t* const order = tree.order;
    struct Key {
        T value;
        std::int32_t id;
    };
    Buffer<Key> keys(n);
    for (Index i = 0; i < n; ++i) order[i] = static_cast<std::int32_t>(i);
    const auto make_sums = [&] { return Buffer<T>(2 * n_columns); };
    for (Index level = 0; level < last_level; ++level)
        parallel_for(Index{1} << level, n_threads, make_sums, [&](Index j, Buffer<T>& sums) {
            const Index begin = tree.begin(level, j), end = tree.begin(level, j + 1);
            const Index column = column_of_largest_variance(points, order + begin, end - begin, n_columns, sums.data());
            for (Index i = begin; i < end; ++i) keys[i] = {points[order[i] * n_columns + column], order[i]};
            std::nth_element(keys.data() + begin, keys.data() + tree.begin(level + 1, 2 * j + 1), keys.data() + end,
                             [](const Key& a, const Key& b) {
                                 return a.value < b.value || (a.value == b.value && a.id < b.id);
                             });
            for (Index i = begin; i < end; ++i) order[i] = keys[i].id;
        });
    const auto extend = [&](Index node, const T* lower, const T* upper, bool is_first) {
        T* const low = tree.lower + node * width;
        T* const high = tree.upper + node * width;
        for (Index j = 0; j < width; ++j) {
            low[j] = is_first || lower[j] < low[j] ? lower[j] : low[j];
            high[j] = is_first || upper[j] > high[j] ? upper[j] : high[j];
        }
    };
    parallel_for(n_leaves, n_threads, [&](Index j) {
        const Index begin = tree.begin(last_level, j), end = tree.begin(last_level, j + 1);
        for (Index i = begin; i < end; ++i) {
            T* const point = tree.points + i * width;
            copy_padded<Isa>(points + order[i] * n_columns, n_columns, point);
            extend(n_leaves - 1 + j, point, point, i == begin);
        }
    });
    for (Index node = n_leaves - 2; node >= 0; --node)
        for (Index child = 2 * node + 1; child <= 2 * node + 2; ++child)
            extend(node, tree.lower + child * width, tree.upper + child * width, child == 2 * node + 1);
}

// The squared distance of a row to a box. The order of its sum is its own.
template <class Isa, class T>
inline T square_gap(const T* row, const T* lower, const T* upper, Index width) {
    using V = typename Isa::template Vector<T>;
    constexpr Index L = sizeof(V) / sizeof(T);
    V sums{};
    for (Index j = 0; j < width; j += L) {
        const V x = *reinterpret_cast<const V*>(row + j);
        const V below = *reinterpret_cast<const V*>(lower + j) - x, above = x - *reinterpret_cast<const V*>(upper + j);
        const V gap = Isa::greatest(Isa::greatest(below, above), V{});
        sums += gap * gap;
    }
    T sum = 0;
    for (Index l = 0; l < L; ++l) sum += sums[l];
    return sum;
}

}  // namespace
}  // namespace coterie
