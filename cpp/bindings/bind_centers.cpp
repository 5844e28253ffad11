// The kernels of the k-means family: argument checks, then the kernel without the interpreter's lock.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "blocks.hpp"
#include "coterie/centers/bounded.hpp"
#include "coterie/seeding/growing_set.hpp"
#include "coterie/centers/sparse_means.hpp"
#include "dispatch.hpp"

namespace coterie {
namespace {

template <class Block>
Block select_rows(const Block& rows, In1<Index> selection) {
    require(!rows.selection, "the rows are a selection already");
    for (std::size_t i = 0; i < selection.shape(0); ++i)
        require(selection.data()[i] >= 0 && selection.data()[i] < rows.n_stored(), "a selected row is out of range");
    Block out = rows;
    out.selection = selection;
    return out;
}

template <class T>
SparseBlock<T> sparse_rows(In1<T> values, In1<std::int32_t> columns, In1<std::int32_t> starts, Index n_columns) {
    require(starts.shape(0) >= 1, "starts is empty");
    const Index n_rows = static_cast<Index>(starts.shape(0)) - 1;
    require(starts.data()[0] == 0, "starts does not begin with 0");
    for (Index i = 0; i < n_rows; ++i) require(starts.data()[i] <= starts.data()[i + 1], "starts decreases");
    require(static_cast<std::size_t>(starts.data()[n_rows]) <= values.shape(0), "starts goes beyond the values");
    require(columns.shape(0) == values.shape(0), "columns and values differ in length");
    for (std::size_t e = 0; e < columns.shape(0); ++e)
        require(columns.data()[e] >= 0 && columns.data()[e] < n_columns, "a column index is out of range");
    return {values, columns, starts, n_columns, {}};
}

template <class T>
Centers<T> centers_view(const In2<T>& centers, const In1<T>& offsets, Index n_columns) {
    require(static_cast<Index>(centers.shape(1)) == n_columns, "centers and rows differ in width");
    require(offsets.shape(0) == centers.shape(0), "one offset per center is needed");
    require(centers.shape(0) >= 1, "no centers");
    return {centers.data(), offsets.data(), static_cast<Index>(centers.shape(0)), n_columns};
}

// Labels come from Python: an index out of range would write into foreign memory.
void require_labels(const In1<std::int32_t>& labels, Index n_rows, Index n_clusters, Index lowest) {
    require_size(labels, n_rows, "one label per row is needed");
    for (Index i = 0; i < n_rows; ++i)
        require(labels.data()[i] >= lowest && labels.data()[i] < n_clusters, "a label is out of range");
}

template <class Block>
void bind_rows(nb::module_& m) {
    using Rows = typename Block::Rows;
    using T = typename Rows::value_type;

    m.def("select_rows", &select_rows<Block>, arg("rows"), arg("selection").noconvert());

    m.def(
        "nearest",
        [](const Block& rows, In2<T> centers, In1<T> offsets, Out2<std::int32_t> ids, Out2<T> scores, int n_threads,
           Index first_id) {
            const Rows x = rows.view();
            const Centers<T> c = centers_view(centers, offsets, x.n_columns);
            const Index m = static_cast<Index>(ids.shape(1)), last_id = first_id + c.n_centers;
            require(first_id >= 0 && last_id <= std::numeric_limits<std::int32_t>::max(), "first_id is out of range");
            require(m >= 1 && m <= last_id, "the number of neighbours must be between 1 and that of centers");
            require_size(ids, x.n_rows * m, "ids has the wrong shape");
            require_size(scores, x.n_rows * m, "scores has the wrong shape");
            kernels().of<Rows>().nearest(x, c, first_id, m, ids.data(), scores.data(), n_threads);
        },
        arg("rows"), arg("centers"), arg("offsets"), arg("ids"), arg("scores"), arg("n_threads"), arg("first_id") = 0,
        Unlocked());

    m.def(
        "bounded_assign",
        [](const Block& rows, In2<T> centers, In1<T> offsets, In1<std::int32_t> order, In1<std::int32_t> slots,
           Index panels_per_group, In1<T> drift, In1<T> cumulative_drift, In1<T> error, T shift_norm, bool first,
           In1<T> squares, Out1<std::int32_t> labels, Out1<T> upper, Out2<T> lower, int n_threads) {
            const Rows x = rows.view();
            const Centers<T> c = centers_view(centers, offsets, x.n_columns);
            constexpr Index lanes = 64 / sizeof(T);
            const Index n_slots = static_cast<Index>(order.size()), n_bounds = static_cast<Index>(lower.shape(1));
            require(n_slots >= c.n_centers && n_slots % lanes == 0, "order does not fill whole panels");
            require_size(slots, c.n_centers, "one slot per center is needed");
            for (Index i = 0; i < n_slots; ++i)
                require(order.data()[i] < c.n_centers, "order names a center that is not there");
            for (Index i = 0; i < c.n_centers; ++i)
                require(slots.data()[i] >= 0 && slots.data()[i] < n_slots && order.data()[slots.data()[i]] == i,
                        "slots is not the inverse of order");
            const Index n_panels = n_slots / lanes;
            require(panels_per_group >= 0, "panels_per_group is negative");
            require(n_bounds == (panels_per_group == 0
                                     ? n_slots
                                     : (n_panels + panels_per_group - 1) / panels_per_group),
                    "lower has the wrong number of bounds");
            require_size(drift, c.n_centers, "one drift per center is needed");
            require_size(cumulative_drift, n_bounds, "one cumulative drift per bound is needed");
            require_size(error, 3, "error has three terms");
            require_size(squares, x.n_rows, "one square per row is needed");
            require_size(labels, x.n_rows, "one label per row is needed");
            require_size(upper, x.n_rows, "one upper bound per row is needed");
            require_size(lower, x.n_rows * n_bounds, "lower has the wrong shape");
            if (!first)
                for (Index i = 0; i < x.n_rows; ++i)
                    require(labels.data()[i] >= 0 && labels.data()[i] < c.n_centers, "a label is out of range");
            const BoundedStep<T> step{order.data(),    slots.data(),   n_slots,         panels_per_group,
                                      drift.data(),    cumulative_drift.data(),         error.data()[0],
                                      error.data()[1], error.data()[2], shift_norm,     first};
            const BoundedState<T> state{squares.data(), labels.data(), upper.data(), lower.data(), n_bounds};
            return kernels().of<Rows>().bounded_assign(x, c, step, state, n_threads);
        },
        arg("rows"), arg("centers"), arg("offsets"), arg("order"), arg("slots"), arg("panels_per_group"),
        arg("drift"), arg("cumulative_drift"), arg("error"), arg("shift_norm"), arg("first"), arg("squares"),
        arg("labels"), arg("upper"), arg("lower"), arg("n_threads"), Unlocked());

    m.def(
        "add_to_clusters",
        [](const Block& rows, In1<std::int32_t> labels, std::optional<In1<std::int32_t>> before,
           std::optional<In1<T>> weights, In1<double> shift, Out2<double> sums, Out1<double> masses, int n_threads) {
            const Rows x = rows.view();
            const Index n_clusters = static_cast<Index>(sums.shape(0));
            require(static_cast<Index>(sums.shape(1)) == x.n_columns, "sums and rows differ in width");
            require_size(masses, n_clusters, "one mass per cluster is needed");
            require_labels(labels, x.n_rows, n_clusters, 0);
            if (before) require_labels(*before, x.n_rows, n_clusters, -1);
            if (weights) require_size(*weights, x.n_rows, "one weight per row is needed");
            require_size(shift, x.n_columns, "one shift per column is needed");
            kernels().of<Rows>().add_to_clusters(x, labels.data(), data_or_null(before), data_or_null(weights),
                                                 shift.data(), n_clusters, sums.data(), masses.data(), n_threads);
        },
        arg("rows"), arg("labels"), arg("before").none(), arg("weights").none(), arg("shift"), arg("sums"),
        arg("masses"), arg("n_threads"), Unlocked());

    m.def(
        "own_square_distances",
        [](const Block& rows, In2<double> centers, In1<double> center_squares, In1<std::int32_t> labels,
           Out1<double> squares, int n_threads) {
            const Rows x = rows.view();
            const Index n_centers = static_cast<Index>(centers.shape(0));
            require(static_cast<Index>(centers.shape(1)) == x.n_columns, "centers and rows differ in width");
            require_size(center_squares, n_centers, "one square per center is needed");
            require_labels(labels, x.n_rows, n_centers, 0);
            require_size(squares, x.n_rows, "one square per row is needed");
            kernels().of<Rows>().own_square_distances(x, centers.data(), center_squares.data(), labels.data(),
                                                      squares.data(), n_threads);
        },
        arg("rows"), arg("centers"), arg("center_squares"), arg("labels"), arg("squares"), arg("n_threads"),
        Unlocked());

    const auto potential = [](const Rows& x, const In1<T>& squares, const std::optional<In1<T>>& weights,
                              const Out1<T>& nearest, const Out1<std::int32_t>& owner,
                              const Out1<std::uint32_t>& reached) {
        require_size(squares, x.n_rows, "one square per row is needed");
        if (weights) require_size(*weights, x.n_rows, "one weight per row is needed");
        require_size(nearest, x.n_rows, "one distance per row is needed");
        require_size(owner, x.n_rows, "one owner per row is needed");
        require_size(reached, x.n_rows, "one set of bits per row is needed");
        return Potential<T>{squares.data(), data_or_null(weights), nearest.data(), owner.data(), reached.data()};
    };
    const auto require_reach = [](const Rows& x, const Out1<std::int32_t>& owner, const In1<T>& reach) {
        std::int32_t lowest = 0, highest = 0;
        for (Index i = 0; i < x.n_rows; ++i) {
            lowest = std::min(lowest, owner.data()[i]);
            highest = std::max(highest, owner.data()[i]);
        }
        require(lowest >= 0 && highest < static_cast<Index>(reach.shape(0)), "an owner is out of range");
    };

    m.def(
        "adopt_centers",
        [=](const Block& rows, In2<T> centers, In1<T> offsets, std::int32_t first_id, In1<T> reach,
            In1<T> squares, std::optional<In1<T>> weights, Out1<T> nearest, Out1<std::int32_t> owner,
            Out1<std::uint32_t> reached, Out1<double> potentials, int n_threads) {
            const Rows x = rows.view();
            const Centers<T> c = centers_view(centers, offsets, x.n_columns);
            require_reach(x, owner, reach);
            require_size(potentials, (x.n_rows + kQuantum - 1) / kQuantum, "potentials has the wrong length");
            kernels().of<Rows>().adopt_centers(x, c, first_id, reach.data(),
                                               potential(x, squares, weights, nearest, owner, reached),
                                               potentials.data(), n_threads);
        },
        arg("rows"), arg("centers"), arg("offsets"), arg("first_id"), arg("reach"), arg("squares"),
        arg("weights").none(), arg("nearest"), arg("owner"), arg("reached"), arg("potentials"), arg("n_threads"),
        Unlocked());

    m.def(
        "candidate_gains",
        [=](const Block& rows, In2<T> candidates, In1<T> offsets, In1<T> reach, In1<T> squares,
            std::optional<In1<T>> weights, Out1<T> nearest, Out1<std::int32_t> owner, Out1<std::uint32_t> reached,
            Out2<double> gains, int n_threads) {
            const Rows x = rows.view();
            const Centers<T> c = centers_view(candidates, offsets, x.n_columns);
            require_reach(x, owner, reach);
            constexpr Index lanes = 64 / sizeof(T);
            require(static_cast<Index>(gains.shape(0)) == (x.n_rows + kQuantum - 1) / kQuantum &&
                        static_cast<Index>(gains.shape(1)) == (c.n_centers + lanes - 1) / lanes * lanes,
                    "gains has the wrong shape");
            kernels().of<Rows>().candidate_gains(x, c, reach.data(),
                                                 potential(x, squares, weights, nearest, owner, reached),
                                                 gains.data(), n_threads);
        },
        arg("rows"), arg("candidates"), arg("offsets"), arg("reach"), arg("squares"), arg("weights").none(),
        arg("nearest"), arg("owner"), arg("reached"), arg("gains"), arg("n_threads"), Unlocked());

    m.def(
        "adopt_candidate",
        [=](const Block& rows, In2<T> center, In1<T> offset, Index slot, std::int32_t id, In1<T> squares,
            std::optional<In1<T>> weights, Out1<T> nearest, Out1<std::int32_t> owner, Out1<std::uint32_t> reached,
            Out1<double> potentials, int n_threads) {
            const Rows x = rows.view();
            const Centers<T> c = centers_view(center, offset, x.n_columns);
            require(c.n_centers == 1 && slot >= 0, "one center, with the slot that it had as a candidate");
            require_size(potentials, (x.n_rows + kQuantum - 1) / kQuantum, "potentials has the wrong length");
            kernels().of<Rows>().adopt_candidate(x, c, slot, id,
                                                 potential(x, squares, weights, nearest, owner, reached),
                                                 potentials.data(), n_threads);
        },
        arg("rows"), arg("center"), arg("offset"), arg("slot"), arg("id"), arg("squares"), arg("weights").none(),
        arg("nearest"), arg("owner"), arg("reached"), arg("potentials"), arg("n_threads"), Unlocked());
}

template <class T>
void bind_centers(nb::module_& m) {
    m.def(
        "move_centers",
        [](In2<double> sums, In1<double> masses, In1<double> shift, In2<T> before, Out2<T> after, int n_threads) {
            const Index n = static_cast<Index>(before.shape(0)), d = static_cast<Index>(before.shape(1));
            require_size(sums, n * d, "sums has the wrong shape");
            require_size(masses, n, "one mass per center is needed");
            require_size(shift, d, "one shift per column is needed");
            require_size(after, n * d, "after has the wrong shape");
            kernels().centers<T>().move_centers(sums.data(), masses.data(), shift.data(), before.data(), after.data(),
                                                n, d, n_threads);
        },
        arg("sums"), arg("masses"), arg("shift"), arg("before"), arg("after"), arg("n_threads"), Unlocked());

    m.def(
        "relate_centers",
        [](In2<T> centers, In1<double> shift, Out2<T> relative, Out1<double> squares, Out1<T> offsets,
           int n_threads) {
            const Index n = static_cast<Index>(centers.shape(0)), d = static_cast<Index>(centers.shape(1));
            require_size(shift, d, "one shift per column is needed");
            require_size(relative, n * d, "relative has the wrong shape");
            require_size(squares, n, "one square per center is needed");
            require_size(offsets, n, "one offset per center is needed");
            kernels().centers<T>().relate_centers(centers.data(), shift.data(), relative.data(), squares.data(),
                                                  offsets.data(), n, d, n_threads);
        },
        arg("centers"), arg("shift"), arg("relative"), arg("squares"), arg("offsets"), arg("n_threads"), Unlocked());

    const auto check = [](Index left, const In2<T>& right, const Out1<double>& dots, const Out1<double>& squares) {
        const Index n = static_cast<Index>(right.shape(0));
        require(left == static_cast<Index>(right.size()), "left and right differ in shape");
        require_size(dots, n, "one dot product per row is needed");
        require_size(squares, n, "one square per row is needed");
    };
    m.def(
        "compare_centers",
        [check](In2<T> left, In2<T> right, Out1<double> dots, Out1<double> squares, int n_threads) {
            check(static_cast<Index>(left.size()), right, dots, squares);
            kernels().centers<T>().compare_centers(left.data(), right.data(), dots.data(), squares.data(),
                                                   static_cast<Index>(right.shape(0)),
                                                   static_cast<Index>(right.shape(1)), n_threads);
        },
        arg("left").noconvert(), arg("right").noconvert(), arg("dots"), arg("squares"), arg("n_threads"), Unlocked());
    m.def(
        "compare_sums",
        [check](In2<double> left, In2<T> right, Out1<double> dots, Out1<double> squares, int n_threads) {
            check(static_cast<Index>(left.size()), right, dots, squares);
            kernels().centers<T>().compare_sums(left.data(), right.data(), dots.data(), squares.data(),
                                                static_cast<Index>(right.shape(0)),
                                                static_cast<Index>(right.shape(1)), n_threads);
        },
        arg("left").noconvert(), arg("right").noconvert(), arg("dots"), arg("squares"), arg("n_threads"), Unlocked());
}

template <class T>
void require_panels(const Out1<T>& panels, Index n_clusters, Index n_columns, Index n_beside) {
    constexpr Index lanes = 64 / sizeof(T);
    require(n_beside >= 1 && n_beside <= kMostBeside<CsrRows<T>>, "n_beside is out of range");
    const Index stride = n_beside * lanes, n_slabs = (n_clusters + stride - 1) / stride;
    require_size(panels, n_slabs * stride * n_columns, "the panels have the wrong size");
    require(reinterpret_cast<std::uintptr_t>(panels.data()) % 64 == 0, "the panels are not aligned to 64 bytes");
}

// Vectors of the panels' own type (centroids) or in double (sums).
template <class T, class V>
void write_lanes_of(In2<V> vectors, In1<std::int32_t> clusters, Out1<T> panels, Index n_clusters, Index n_beside,
                    int n_threads) {
    const Index n = static_cast<Index>(vectors.shape(0)), d = static_cast<Index>(vectors.shape(1));
    require_panels(panels, n_clusters, d, n_beside);
    require_labels(clusters, n, n_clusters, 0);
    const SparseMeanKernels<T>& table = kernels().sparse_means<T>();
    if constexpr (__is_same(V, T)) table.write_lanes(vectors.data(), clusters.data(), n, d, panels.data(), n_beside, n_threads);
    else table.write_sums(vectors.data(), clusters.data(), n, d, panels.data(), n_beside, n_threads);
}

template <class T>
void bind_sparse_means(nb::module_& m) {
    m.def(
        "nearest_mean",
        [](const SparseBlock<T>& rows, Out1<T> panels, Index n_beside, Out1<T> scales, Out1<T> offsets,
           Out1<std::int32_t> labels, Out1<T> scores, int n_threads) {
            const CsrRows<T> x = rows.view();
            constexpr Index lanes = 64 / sizeof(T);
            const Index n_slots = static_cast<Index>(scales.size());
            require(n_slots % (lanes * n_beside) == 0, "scales do not fill whole slabs");
            require_panels(panels, n_slots, x.n_columns, n_beside);
            require_size(offsets, n_slots, "one offset per slot is needed");
            require(reinterpret_cast<std::uintptr_t>(scales.data()) % 64 == 0 &&
                        reinterpret_cast<std::uintptr_t>(offsets.data()) % 64 == 0,
                    "scales and offsets must be aligned to 64 bytes");
            require_size(labels, x.n_rows, "one label per row is needed");
            require_size(scores, x.n_rows, "one score per row is needed");
            const SumPanels<T> view{panels.data(), scales.data(), offsets.data(), n_slots / lanes, n_beside};
            kernels().sparse_means<T>().nearest_mean(x, view, labels.data(), scores.data(), n_threads);
        },
        arg("rows"), arg("panels"), arg("n_beside"), arg("scales"), arg("offsets"), arg("labels"), arg("scores"),
        arg("n_threads"), Unlocked());

    const auto bind_lanes = [&m](auto function) {
        m.def("write_lanes", function, arg("vectors").noconvert(), arg("clusters"), arg("panels").noconvert(),
              arg("n_clusters"), arg("n_beside"), arg("n_threads"), Unlocked());
    };
    bind_lanes(&write_lanes_of<T, T>);
    if constexpr (!__is_same(T, double)) bind_lanes(&write_lanes_of<T, double>);

    m.def(
        "take_votes",
        [](const std::vector<SparseBlock<T>>& blocks, In1<std::int32_t> labels,
           std::optional<In1<std::int32_t>> before, std::optional<In1<T>> weights, Out2<double> sums,
           Out1<double> masses, Out1<T> panels, Index n_beside, Out1<double> squares, Out1<double> with_sums,
           Out1<double> with_panels, int n_threads) {
            const Index n = static_cast<Index>(sums.shape(0)), d = static_cast<Index>(sums.shape(1));
            std::vector<CsrRows<T>> views;
            Index n_rows = 0;
            for (const SparseBlock<T>& block : blocks) {
                views.push_back(block.view());
                require(views.back().n_columns == d, "sums and rows differ in width");
                n_rows += views.back().n_rows;
            }
            require_labels(labels, n_rows, n, 0);
            if (before) require_labels(*before, n_rows, n, -1);
            if (weights) require_size(*weights, n_rows, "one weight per row is needed");
            require_panels(panels, n, d, n_beside);
            for (const auto* array : {&masses, &squares, &with_sums, &with_panels})
                require_size(*array, n, "one number per cluster is needed");
            const SparseVotes<T> votes{views.data(),          static_cast<Index>(views.size()), labels.data(),
                                       data_or_null(before), data_or_null(weights),            n_rows};
            const SparseSums<T> state{sums.data(), masses.data(), panels.data(), n_beside, n, d};
            kernels().sparse_means<T>().take_votes(votes, state, squares.data(), with_sums.data(),
                                                   with_panels.data(), n_threads);
        },
        arg("blocks"), arg("labels"), arg("before").none(), arg("weights").none(), arg("sums"), arg("masses"),
        arg("panels"), arg("n_beside"), arg("squares"), arg("with_sums"), arg("with_panels"), arg("n_threads"),
        Unlocked());
}

template <class T>
void bind_blocks(nb::module_& m, const char* dense_name, const char* sparse_name) {
    nb::class_<DenseBlock<T>>(m, dense_name);
    m.def(
        "dense_rows", [](In2<T> array) { return DenseBlock<T>{array, {}}; }, arg("array").noconvert());
    bind_rows<DenseBlock<T>>(m);
    nb::class_<SparseBlock<T>>(m, sparse_name);
    m.def("sparse_rows", &sparse_rows<T>, arg("values").noconvert(), arg("columns").noconvert(),
          arg("starts").noconvert(), arg("n_columns"));
    bind_rows<SparseBlock<T>>(m);
    bind_sparse_means<T>(m);
}

}  // namespace

void bind_centers(nb::module_& m) {
    m.attr("ROW_QUANTUM") = kQuantum;
    m.attr("PANELS_BESIDE") = kMostBeside<CsrRows<float>>;
    bind_centers<float>(m);
    bind_centers<double>(m);
    bind_blocks<float>(m, "DenseRowsFloat32", "SparseRowsFloat32");
    bind_blocks<double>(m, "DenseRowsFloat64", "SparseRowsFloat64");
}

}  // namespace coterie
