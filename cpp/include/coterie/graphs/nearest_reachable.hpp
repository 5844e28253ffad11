// The lightest edges of mutual reachability, max(core distance of either row, distance), that leave groups of rows.
#pragma once

#include "coterie/centers/differences.hpp"
#include "coterie/machine/views.hpp"

namespace coterie {

// Points in cells. Lengths are squared but for the radii.
template <class T>
struct CellPoints {
    const T* points;            // n_points x n_columns, cell by cell
    const T* cores;             // n_points
    const std::int32_t* groups; // n_points
    const Index* starts;        // n_cells + 1
    const T* centers;           // n_cells x n_columns
    const T* radii;             // n_cells: no point of the cell is farther from its center
    const T* least_cores;       // n_cells
    const std::int32_t* only;   // n_cells: the group of all points of a cell, or -1
    Index n_points, n_columns, n_cells;
};

namespace {

// For each row the point of another group at the end of the lightest edge below a limit; rows with a group of -2 - g
// are compared only with points of group g. IN x, row_cores, row_groups, limits (n_rows); OUT ids, squares (n_rows): -1
// and the limit if there is none. Ties go to the lower id.
template <class Isa, class T>
void nearest_reachable(const DenseRows<T>& x, const CellPoints<T>& cells, const T* row_cores,
                       const std::int32_t* row_groups, const T* limits, std::int32_t* ids, T* squares, int n_threads) {
    constexpr Index W = kLanes<T>, kRows = 16, kPoints = 64;
    const Index width = ceil_div(x.n_columns, W) * W;
    const Buffer<T> points = padded_rows<Isa>(cells.points, cells.n_points, x.n_columns, width, n_threads);
    const Buffer<T> centers = padded_rows<Isa>(cells.centers, cells.n_cells, x.n_columns, width, n_threads);
    // Relative rounding error of sums of squares.
    const T slack = static_cast<T>(2 * (x.n_columns + 16)) * epsilon<T>();
    struct Scratch {
        Buffer<T> rows, found, nearest, least;
    };
    const auto make_scratch = [&] {
        return Scratch{Buffer<T>(kRows * width), Buffer<T>(kRows * kPoints), Buffer<T>(kRows * cells.n_cells),
                       Buffer<T>(cells.n_cells)};
    };
    parallel_for(ceil_div(x.n_rows, kRows), n_threads, make_scratch, [&](Index task, Scratch& scratch) {
        const Index begin = task * kRows, n = min_index(kRows, x.n_rows - begin);
        for (Index r = 0; r < n; ++r) {
            copy_padded<Isa>(x.row(begin + r), x.n_columns, scratch.rows.data() + r * width);
            ids[begin + r] = -1;
            squares[begin + r] = limits[begin + r];
        }
        const auto measure = [&](const T* rows, Index first, Index end) {
            const T* places[kPoints];
            for (Index c = 0; c < kPoints; ++c) places[c] = rows + min_index(first + c, end - 1) * width;
            const Index tiles = ceil_div(min_index(kPoints, end - first), kTileCenters<Isa, T>);
            square_distances<Isa, T, false>(scratch.rows.data(), n, width, places, places, tiles * kTileCenters<Isa, T>,
                                            scratch.found.data(), kPoints);
        };
        const auto is_asked = [&](Index r, std::int32_t group) {
            const std::int32_t own = row_groups[begin + r];
            return own >= 0 ? group != own : group == -2 - own;
        };
        // Lower bounds of the squared distances to the points of each cell, minus rounding errors.
        for (Index first = 0; first < cells.n_cells; first += kPoints) {
            measure(centers.data(), first, cells.n_cells);
            for (Index c = first; c < min_index(first + kPoints, cells.n_cells); ++c) {
                scratch.least[c] = infinity<T>();
                for (Index r = 0; r < n; ++r) {
                    const T far = square_root(scratch.found[r * kPoints + c - first]);
                    const T apart = far * (1 - slack) - cells.radii[c] * (1 + slack);
                    T nearest = apart > 0 ? apart * apart * (1 - slack) : 0;
                    if (nearest < cells.least_cores[c]) nearest = cells.least_cores[c];
                    if (nearest < row_cores[begin + r]) nearest = row_cores[begin + r];
                    if (cells.only[c] >= 0 && !is_asked(r, cells.only[c])) nearest = infinity<T>();
                    scratch.nearest[c * kRows + r] = nearest;
                    if (nearest < scratch.least[c]) scratch.least[c] = nearest;
                }
            }
        }
        const auto visit = [&](Index c) {
            bool is_near = false;
            for (Index r = 0; r < n; ++r) is_near = is_near || scratch.nearest[c * kRows + r] <= squares[begin + r];
            if (!is_near) return;
            for (Index first = cells.starts[c]; first < cells.starts[c + 1]; first += kPoints) {
                const Index end = min_index(first + kPoints, cells.starts[c + 1]);
                measure(points.data(), first, cells.starts[c + 1]);
                for (Index r = 0; r < n; ++r) {
                    T best = squares[begin + r];
                    std::int32_t at = ids[begin + r];
                    for (Index p = first; p < end; ++p) {
                        T weight = scratch.found[r * kPoints + p - first];
                        if (weight > best) continue;
                        if (weight < cells.cores[p]) weight = cells.cores[p];
                        if (weight < row_cores[begin + r]) weight = row_cores[begin + r];
                        if (!(weight < best || (weight == best && at >= 0 && p < at)) || !is_asked(r, cells.groups[p]))
                            continue;
                        best = weight;
                        at = static_cast<std::int32_t>(p);
                    }
                    squares[begin + r] = best;
                    ids[begin + r] = at;
                }
            }
        };
        // The nearest cells first, while finding them is worth the time: their points bound the search in others.
        for (int turn = 0; turn < 8; ++turn) {
            Index nearest = 0;
            for (Index c = 1; c < cells.n_cells; ++c)
                if (scratch.least[c] < scratch.least[nearest]) nearest = c;
            if (scratch.least[nearest] == infinity<T>()) return;
            visit(nearest);
            scratch.least[nearest] = infinity<T>();
        }
        for (Index c = 0; c < cells.n_cells; ++c)
            if (scratch.least[c] < infinity<T>()) visit(c);
    });
}

}  // namespace
}  // namespace coterie
