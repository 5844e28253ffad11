// The lightest edges of mutual reachability, max(core distance of either row, distance), that leave groups of rows.
#pragma once

#include "coterie/graphs/box_tree.hpp"

namespace coterie {

// Points for which edges are looked for.
template <class T>
struct ReachableSearch {
    const T* cores;              // n_points: squared core distances
    const std::int32_t* groups;  // n_points
    const std::int32_t* rows;    // n_rows: numbers of points
    const std::int32_t* asked;   // n_rows: the group of the row, which is left out; -2 - g: only group g is searched
    const T* limits;             // n_rows
    Index n_rows;
    Index m;  // points to find for each row
};

namespace {

// For each row the points at the ends of the lightest edges below its limit. OUT ids, squares (n_rows x m): ascending,
// ties by number; -1 and the limit where there are too few.
template <class Isa, class T>
void nearest_reachable(const BoxTree<T>& tree, const ReachableSearch<T>& search, std::int32_t* ids, T* squares,
                       int n_threads) {
    // Rows of one leaf are searched together.
    constexpr Index kRows = 16, kPoints = kLeafPoints, kLevels = 64;
    const Index n = tree.n_points, width = tree.width, n_leaves = tree.n_leaves(), m = search.m, n_nodes = tree.n_nodes();
    // Relative rounding error of sums of squares.
    const T slack = static_cast<T>(2 * (tree.n_columns + 16)) * epsilon<T>();
    Buffer<std::int32_t> places(n), only(n_nodes);
    Buffer<T> least_cores(n_nodes);
    parallel_for(n_leaves, n_threads, [&](Index leaf) {
        const Index begin = tree.begin(tree.last_level, leaf), node = n_leaves - 1 + leaf;
        only[node] = search.groups[tree.order[begin]];
        least_cores[node] = infinity<T>();
        for (Index p = begin; p < tree.begin(tree.last_level, leaf + 1); ++p) {
            const std::int32_t id = tree.order[p];
            places[id] = static_cast<std::int32_t>(p);
            if (search.groups[id] != only[node]) only[node] = -1;
            if (search.cores[id] < least_cores[node]) least_cores[node] = search.cores[id];
        }
    });
    for (Index node = n_leaves - 2; node >= 0; --node) {
        const Index a = 2 * node + 1, b = a + 1;
        only[node] = only[a] == only[b] ? only[a] : -1;
        least_cores[node] = least_cores[a] < least_cores[b] ? least_cores[a] : least_cores[b];
    }
    const auto leaf_of = [&](Index r) {
        return (((Index{places[search.rows[r]]} + 1) << tree.last_level) - 1) / n;
    };
    Buffer<Index> starts(n_leaves + 2), listed(search.n_rows);
    starts.fill(0);
    for (Index r = 0; r < search.n_rows; ++r) ++starts[leaf_of(r) + 2];
    for (Index leaf = 0; leaf < n_leaves; ++leaf) starts[leaf + 2] += starts[leaf + 1];
    for (Index r = 0; r < search.n_rows; ++r) listed[starts[leaf_of(r) + 1]++] = r;

    struct Open {
        Index node;
        T least, bounds[kRows];
    };
    struct Scratch {
        Buffer<T> rows, found;
        Buffer<Open> open;
    };
    const auto make_scratch = [&] {
        return Scratch{Buffer<T>(kRows * width), Buffer<T>(kRows * kPoints), Buffer<Open>(kLevels)};
    };
    const auto search_rows = [&](const Index* some, Index n_some, Scratch& scratch) {
        std::int32_t own[kRows], *at[kRows];
        T cores[kRows], *best[kRows];
        for (Index r = 0; r < n_some; ++r) {
            const std::int32_t row = search.rows[some[r]];
            copy_padded<Isa>(tree.points + places[row] * width, width, scratch.rows.data() + r * width);
            own[r] = search.asked[some[r]];
            cores[r] = search.cores[row];
            best[r] = squares + some[r] * m;
            at[r] = ids + some[r] * m;
            for (Index k = 0; k < m; ++k) {
                best[r][k] = search.limits[some[r]];
                at[r][k] = -1;
            }
        }
        const auto is_asked = [&](Index r, std::int32_t group) {
            return own[r] >= 0 ? group != own[r] : group == -2 - own[r];
        };
        // `outer` are the bounds of the parent, which has all points of the node.
        const auto bound = [&](Index node, const T* outer, Open& out) {
            out.node = node;
            out.least = infinity<T>();
            for (Index r = 0; r < n_some; ++r) {
                out.bounds[r] = infinity<T>();
                if (outer[r] > best[r][m - 1] || outer[r] == infinity<T>()) continue;
                if (only[node] >= 0 && !is_asked(r, only[node])) continue;
                T least = square_gap<Isa>(scratch.rows.data() + r * width, tree.lower + node * width,
                                          tree.upper + node * width, width) * (1 - slack);
                if (least < least_cores[node]) least = least_cores[node];
                if (least < cores[r]) least = cores[r];
                if (least > best[r][m - 1]) continue;
                out.bounds[r] = least;
                if (least < out.least) out.least = least;
            }
        };
        const auto visit = [&](Index leaf, Index first, Index last) {
            const Index begin = tree.begin(tree.last_level, leaf), end = tree.begin(tree.last_level, leaf + 1);
            const T* points[kPoints];
            for (Index p = 0; p < kPoints; ++p) points[p] = tree.points + min_index(begin + p, end - 1) * width;
            square_distances<Isa, T, false>(scratch.rows.data() + first * width, last - first, width, points, points,
                                            kPoints, scratch.found.data() + first * kPoints, kPoints);
            for (Index r = first; r < last; ++r)
                for (Index p = begin; p < end; ++p) {
                    T weight = scratch.found[r * kPoints + p - begin];
                    if (weight > best[r][m - 1]) continue;
                    const std::int32_t id = tree.order[p];
                    if (weight < search.cores[id]) weight = search.cores[id];
                    if (weight < cores[r]) weight = cores[r];
                    T* const kept = best[r];
                    std::int32_t* const names = at[r];
                    const auto is_before = [&](Index k) {
                        return weight < kept[k] || (weight == kept[k] && id < names[k]);
                    };
                    if (!is_before(m - 1) || !is_asked(r, search.groups[id])) continue;
                    Index k = m - 1;
                    for (; k > 0 && is_before(k - 1); --k) {
                        kept[k] = kept[k - 1];
                        names[k] = names[k - 1];
                    }
                    kept[k] = weight;
                    names[k] = id;
                }
        };
        Open* const open = scratch.open.data();
        Index n_open = 1;
        T outer[kRows] = {};
        bound(0, outer, open[0]);
        while (n_open > 0) {
            const Open& top = open[--n_open];
            Index first = n_some, last = 0;
            for (Index r = 0; r < n_some; ++r)
                if (top.bounds[r] <= best[r][m - 1]) {
                    first = min_index(first, r);
                    last = r + 1;
                }
            if (first == n_some || top.least == infinity<T>()) continue;
            const Index node = top.node;
            if (node >= n_leaves - 1) {
                visit(node - (n_leaves - 1), first, last);
                continue;
            }
            // The nearer child is searched first: its points bound the search in the other one.
            std::copy_n(top.bounds, n_some, outer);
            bound(2 * node + 1, outer, open[n_open]);
            bound(2 * node + 2, outer, open[n_open + 1]);
            if (open[n_open].least < open[n_open + 1].least) std::swap(open[n_open], open[n_open + 1]);
            n_open += 2;
        }
    };
    const auto search_all = [&](Index first, Index last, Scratch& scratch) {
        for (; first < last; first += kRows)
            search_rows(listed.data() + first, min_index(kRows, last - first), scratch);
    };
    // With more columns than levels most columns are not split: boxes exclude few points, and it pays to read the points
    // once for rows of several leaves.
    if (tree.n_columns > tree.last_level)
        parallel_for(ceil_div(search.n_rows, kRows), n_threads, make_scratch, [&](Index tile, Scratch& scratch) {
            search_all(tile * kRows, min_index((tile + 1) * kRows, search.n_rows), scratch);
        });
    else
        parallel_for(n_leaves, n_threads, make_scratch, [&](Index leaf, Scratch& scratch) {
            search_all(starts[leaf], starts[leaf + 1], scratch);
        });
}

}  // namespace
}  // namespace coterie
