// The kernels of rows and centers: argument checks, then the kernel without the interpreter's lock.
#include <limits>

#include "blocks.hpp"
#include "centers.hpp"
#include "dispatch.hpp"

namespace coterie {
namespace {

void require_labels(const In1<std::int32_t>& labels, Index n_rows, Index n_clusters, Index lowest) {
    require_size(labels, n_rows, "one label per row is needed");
    require_between(labels, lowest, n_clusters, "a label is out of range");
}

// Centers as `assign` takes them, with the arrays that they are in.
template <class T>
struct ExactArrays {
    In2<T> centers, relative;
    In1<T> offsets;
    In1<double> squares;
    std::optional<In1<double>> own_squares;
    In1<double> shift;
    In1<std::int32_t> order;

    ExactCenters<T> view(Index n_columns) const {
        const Index k = static_cast<Index>(centers.shape(0));
        require_size(centers, static_cast<Index>(relative.size()), "centers and relative centers differ in shape");
        require_size(squares, k, "one square per center is needed");
        if (own_squares) require_size(*own_squares, k, "one square per center is needed");
        require_size(shift, n_columns, "one shift per column is needed");
        require_size(order, k, "order and centers differ in number");
        require_between(order, 0, k, "order names a center that is not there");
        return {centers_view(relative, offsets, n_columns), centers.data(), squares.data(), data_or_null(own_squares),
                shift.data(), order.data()};
    }
};

template <class T>
void bind_exact_centers(nb::module_& m, const char* name) {
    nb::class_<ExactArrays<T>>(m, name);
    m.def(
        "exact_centers",
        [](In2<T> centers, In2<T> relative, In1<T> offsets, In1<double> squares, std::optional<In1<double>> own_squares,
           In1<double> shift, In1<std::int32_t> order) {
            return ExactArrays<T>{centers, relative, offsets, squares, own_squares, shift, order};
        },
        arg("centers").noconvert(), arg("relative").noconvert(), arg("offsets"), arg("squares"),
        arg("own_squares").none(), arg("shift"), arg("order"));
}

// What is the same for all rows in one iteration with bounds; keeps the arrays alive.
template <class T>
struct BoundedOptions {
    In1<std::int32_t> order, slots;
    Index panels_per_group;
    In1<T> drift, cumulative_drift;
    T length;
    BitsType<T> bias;
    bool by_bytes;

    BoundedStep<T> step(bool first) const {
        return {order.data(), slots.data(), static_cast<Index>(order.size()), panels_per_group, drift.data(),
                cumulative_drift.data(), length, bias, by_bytes, first};
    }
};

template <class T>
BoundedOptions<T> bounded_options(In1<std::int32_t> order, In1<std::int32_t> slots, Index panels_per_group,
                                  In1<T> drift, In1<T> cumulative_drift, T length, BitsType<T> bias, bool by_bytes) {
    const Index n_slots = static_cast<Index>(order.size()), n_centers = static_cast<Index>(slots.size());
    require(n_slots >= n_centers && n_slots % kLanes<T> == 0, "order does not fill whole panels");
    require_between(order, -1, n_centers, "order names a center that is not there");
    require_between(slots, 0, n_slots, "a slot is out of range");
    for (Index i = 0; i < n_centers; ++i)
        require(order.data()[slots.data()[i]] == i, "slots is not the inverse of order");
    require(panels_per_group >= 0, "panels_per_group is negative");
    require_size(drift, n_centers, "one drift per center is needed");
    require_size(cumulative_drift,
                 panels_per_group == 0 ? n_slots : ceil_div(n_slots / kLanes<T>, panels_per_group),
                 "one cumulative drift per bound is needed");
    require(length > 0 && length <= 1, "length is out of range");
    require(bias >= 1 && bias <= greatest_bias<T>(), "bias is out of range");
    return {order, slots, panels_per_group, drift, cumulative_drift, length, bias, by_bytes};
}

template <class T>
void bind_bounded_options(nb::module_& m, const char* name) {
    nb::class_<BoundedOptions<T>>(m, name);
    m.def("bounded_options", &bounded_options<T>, arg("order"), arg("slots"), arg("panels_per_group"),
          arg("drift").noconvert(), arg("cumulative_drift").noconvert(), arg("length"), arg("bias"), arg("by_bytes"));
}

template <class Block>
void bind_assignment(nb::module_& m) {
    using Rows = typename Block::Rows;
    using T = typename Rows::value_type;

    m.def(
        "nearest",
        [](const Block& rows, In2<T> centers, In1<T> offsets, Out2<std::int32_t> ids, Out2<T> scores, int n_threads,
           Index first_id) {
            const Rows x = rows.view();
            const Centers<T> c = centers_view(centers, offsets, x.n_columns);
            const Index m = static_cast<Index>(ids.shape(1)), last_id = first_id + c.n_centers;
            require(first_id >= 0 && last_id <= std::numeric_limits<std::int32_t>::max(), "first_id is out of range");
            require(m >= 1 && m <= last_id, "the number of neighbors must be between 1 and that of centers");
            require_size(ids, x.n_rows * m, "ids has the wrong shape");
            require_size(scores, x.n_rows * m, "scores has the wrong shape");
            kernels().of_rows<Rows>().nearest(x, c, first_id, m, ids.data(), scores.data(), n_threads);
        },
        arg("rows"), arg("centers"), arg("offsets"), arg("ids"), arg("scores"), arg("n_threads"), arg("first_id") = 0,
        Unlocked());

    m.def(
        "assign",
        [](const Block& rows, const ExactArrays<T>& centers, Out1<std::int32_t> labels,
           std::optional<Out1<double>> squares, int n_threads, int filter, std::optional<In1<T>> known) {
            const Rows x = rows.view();
            require_size(labels, x.n_rows, "one label per row is needed");
            if (squares) require_size(*squares, x.n_rows, "one square per row is needed");
            require(filter >= 0 && filter <= 2, "there is no such filter");
            if (known) require_size(*known, x.n_rows, "one known square per row is needed");
            Index n_compared = 0;
            kernels().row_searches<Rows>().assign(x, centers.view(x.n_columns), static_cast<Filter>(filter),
                                                  data_or_null(known), {labels.data(), squares ? squares->data() : nullptr, &n_compared}, n_threads);
            return n_compared;
        },
        arg("rows"), arg("centers"), arg("labels"), arg("squares").none(), arg("n_threads"), arg("filter") = 0,
        arg("known").none() = nb::none(), Unlocked());

    m.def(
        "bounded_assign",
        [](const Block& rows, const ExactArrays<T>& centers, const BoundedOptions<T>& options, bool first,
           In1<T> squares, Out1<std::int32_t> labels, Out1<T> upper, Out2<StoredBound> lower, int n_threads) {
            const Rows x = rows.view();
            const ExactCenters<T> exact = centers.view(x.n_columns);
            const Index n_bounds = static_cast<Index>(lower.shape(1)), k = exact.scored.n_centers;
            require_size(options.slots, k, "one slot per center is needed");
            require_size(options.cumulative_drift, n_bounds, "lower has the wrong number of bounds");
            require_size(squares, x.n_rows, "one square per row is needed");
            require_size(labels, x.n_rows, "one label per row is needed");
            require_size(upper, x.n_rows, "one upper bound per row is needed");
            require_size(lower, x.n_rows * n_bounds, "lower has the wrong shape");
            if (!first) require_between(labels, 0, k, "a label is out of range");
            const BoundedState<T> state{squares.data(), labels.data(), upper.data(), lower.data(), n_bounds};
            return kernels().row_searches<Rows>().bounded_assign(x, exact, options.step(first), state, n_threads);
        },
        arg("rows"), arg("centers"), arg("options"), arg("first"), arg("squares"), arg("labels"), arg("upper"),
        arg("lower"), arg("n_threads"), Unlocked());

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
            kernels().of_rows<Rows>().add_to_clusters(x, labels.data(), data_or_null(before), data_or_null(weights),
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
            kernels().of_rows<Rows>().own_square_distances(x, centers.data(), center_squares.data(), labels.data(),
                                                           squares.data(), n_threads);
        },
        arg("rows"), arg("centers"), arg("center_squares"), arg("labels"), arg("squares"), arg("n_threads"),
        Unlocked());
}

// The left ones of the type of the right ones (centroids) or in double (sums).
template <class L, class T>
void compare_centers_of(In2<L> left, In2<T> right, Out1<double> dots, Out1<double> squares, int n_threads) {
    const Index n = static_cast<Index>(right.shape(0)), d = static_cast<Index>(right.shape(1));
    require_size(left, n * d, "left and right differ in shape");
    require_size(dots, n, "one dot product per row is needed");
    require_size(squares, n, "one square per row is needed");
    const auto compare = [] {
        if constexpr (__is_same(L, T)) return kernels().of<T>().compare_centers;
        else return kernels().of<T>().compare_centers_of_doubles;
    }();
    compare(left.data(), right.data(), dots.data(), squares.data(), n, d, n_threads);
}

template <class T>
void bind_positions(nb::module_& m) {
    m.def(
        "move_centers",
        [](In2<double> sums, In1<double> masses, In1<double> shift, In2<T> before, Out2<T> after, int n_threads) {
            const Index n = static_cast<Index>(before.shape(0)), d = static_cast<Index>(before.shape(1));
            require_size(sums, n * d, "sums has the wrong shape");
            require_size(masses, n, "one mass per center is needed");
            require_size(shift, d, "one shift per column is needed");
            require_size(after, n * d, "after has the wrong shape");
            kernels().of<T>().move_centers(sums.data(), masses.data(), shift.data(), before.data(), after.data(), n, d,
                                           n_threads);
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
            kernels().of<T>().relate_centers(centers.data(), shift.data(), relative.data(), squares.data(),
                                             offsets.data(), n, d, n_threads);
        },
        arg("centers"), arg("shift"), arg("relative"), arg("squares"), arg("offsets"), arg("n_threads"), Unlocked());

    const auto bind_comparison = [&m](auto function) {
        m.def("compare_centers", function, arg("left").noconvert(), arg("right").noconvert(), arg("dots"), arg("squares"),
              arg("n_threads"), Unlocked());
    };
    bind_comparison(&compare_centers_of<T, T>);
    if constexpr (!__is_same(T, double)) bind_comparison(&compare_centers_of<double, T>);
}

// Of dense rows.
template <class T>
void bind_distances(nb::module_& m) {
    m.def(
        "distances_to_listed",
        [](const DenseBlock<T>& rows, In2<T> centers, std::optional<In2<T>> scales, In1<T> precisions, In1<T> offsets,
           Out2<std::int32_t> ids, Out2<T> distances, int n_threads) {
            const DenseRows<T> x = rows.view();
            const ScaledCenters<T> c = scaled_centers_view(centers, scales, precisions, offsets, x.n_columns);
            const Index m = static_cast<Index>(ids.shape(1));
            require(m >= 1, "no centers are listed");
            require_size(ids, x.n_rows * m, "ids has the wrong shape");
            require_size(distances, x.n_rows * m, "distances has the wrong shape");
            require_between(ids, 0, c.n_centers, "a listed center is out of range");
            kernels().of<T>().distances_to_listed(x, c, m, ids.data(), distances.data(), n_threads);
        },
        arg("rows"), arg("centers"), arg("scales").none(), arg("precisions"), arg("offsets"), arg("ids"),
        arg("distances"), arg("n_threads"), Unlocked());
}

}  // namespace

void bind_centers(nb::module_& m) {
    bind_positions<float>(m);
    bind_positions<double>(m);
    m.def("byte_limits", [] {
        const ByteLimits limits = kernels().searches<float>().byte_limits;
        return nb::make_tuple(limits.least_columns, limits.least_centers, limits.least_products, limits.bound_columns);
    });
    bind_exact_centers<float>(m, "ExactCentersFloat32");
    bind_exact_centers<double>(m, "ExactCentersFloat64");
    bind_bounded_options<float>(m, "BoundedOptionsFloat32");
    bind_bounded_options<double>(m, "BoundedOptionsFloat64");
    for_each_block([&]<class Block>() { bind_assignment<Block>(m); });
    bind_distances<float>(m);
    bind_distances<double>(m);
}

}  // namespace coterie
