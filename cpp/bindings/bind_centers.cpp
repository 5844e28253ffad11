// The kernels of rows and centers: argument checks, then the kernel without the interpreter's lock.
#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "blocks.hpp"
#include "centers.hpp"
#include "dispatch.hpp"

namespace coterie {
namespace {

void require_labels(const In1<std::int32_t>& labels, Index n_rows, Index n_clusters, Index lowest) {
    require_size(n_rows, "one label per row is needed", labels);
    require_between(lowest, n_clusters, "a label is out of range", labels);
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
        const Index k = centers.shape(0);
        require_size(relative.size(), "centers and relative centers differ in shape", centers);
        require_size(k, "an array has the wrong shape", squares, own_squares, order);
        require_size(n_columns, "one shift per column is needed", shift);
        require_between(0, k, "order names a center that is not there", order);
        return {centers_view(relative, offsets, n_columns), centers, squares, data_or_null(own_squares), shift, order};
    }
};

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
        return {order, slots, order.size(), panels_per_group, drift, cumulative_drift, length, bias, by_bytes, first};
    }
};

template <class T>
BoundedOptions<T> bounded_options(In1<std::int32_t> order, In1<std::int32_t> slots, Index panels_per_group,
                                  In1<T> drift, In1<T> cumulative_drift, T length, BitsType<T> bias, bool by_bytes) {
    const Index n_slots = order.size(), n_centers = slots.size();
    require(n_slots >= n_centers && n_slots % kLanes<T> == 0, "order does not fill whole panels");
    require_between(-1, n_centers, "order names a center that is not there", order);
    require_between(0, n_slots, "a slot is out of range", slots);
    for (Index i = 0; i < n_centers; ++i) require(order[slots[i]] == i, "slots is not the inverse of order");
    require(panels_per_group >= 0, "panels_per_group is negative");
    require_size(n_centers, "one drift per center is needed", drift);
    require_size(panels_per_group == 0 ? n_slots : ceil_div(n_slots / kLanes<T>, panels_per_group),
                 "one cumulative drift per bound is needed", cumulative_drift);
    require(length > 0 && length <= 1, "length is out of range");
    require(bias >= 1 && bias <= greatest_bias<T>(), "bias is out of range");
    return {order, slots, panels_per_group, drift, cumulative_drift, length, bias, by_bytes};
}

template <class T>
void bind_options(nb::module_& m, const char* centers, const char* options) {
    nb::class_<ExactArrays<T>>(m, centers);
    nb::class_<BoundedOptions<T>>(m, options);
    m.def("exact_centers", [](In2<T> centers, In2<T> relative, In1<T> offsets, In1<double> squares,
                              std::optional<In1<double>> own_squares, In1<double> shift, In1<std::int32_t> order) {
        return ExactArrays<T>{centers, relative, offsets, squares, own_squares, shift, order};
    });
    m.def("bounded_options", &bounded_options<T>);
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
            const Index m = ids.shape(1), last_id = first_id + c.n_centers;
            require(first_id >= 0 && last_id <= std::numeric_limits<std::int32_t>::max(), "first_id is out of range");
            require(m >= 1 && m <= last_id, "the number of neighbors must be between 1 and that of centers");
            require_size(x.n_rows * m, "an array has the wrong shape", ids, scores);
            kernels().of_rows<Rows>().nearest(x, c, first_id, m, ids, scores, n_threads);
        },
        Unlocked());

    m.def(
        "assign",
        [](const Block& rows, const ExactArrays<T>& centers, Out1<std::int32_t> labels,
           std::optional<Out1<double>> squares, int n_threads, int filter, std::optional<In1<T>> known) {
            const Rows x = rows.view();
            require_size(x.n_rows, "one number per row is needed", labels, squares);
            require(filter >= 0 && filter <= 2, "there is no such filter");
            require_size(x.n_rows, "one known square per row is needed", known);
            Index n_compared = 0;
            kernels().row_searches<Rows>().assign(x, centers.view(x.n_columns), static_cast<Filter>(filter),
                                                  data_or_null(known), {labels, data_or_null(squares), &n_compared},
                                                  n_threads);
            return n_compared;
        },
        Unlocked());

    m.def(
        "bounded_assign",
        [](const Block& rows, const ExactArrays<T>& centers, const BoundedOptions<T>& options, bool first,
           In1<T> squares, Out1<std::int32_t> labels, Out1<T> upper, Out2<StoredBound> lower, int n_threads) {
            const Rows x = rows.view();
            const ExactCenters<T> exact = centers.view(x.n_columns);
            const Index n_bounds = lower.shape(1), k = exact.scored.n_centers;
            require_size(k, "one slot per center is needed", options.slots);
            require_size(n_bounds, "lower has the wrong number of bounds", options.cumulative_drift);
            require_size(x.n_rows, "one number per row is needed", squares, labels, upper);
            require_size(x.n_rows * n_bounds, "lower has the wrong shape", lower);
            if (!first) require_between(0, k, "a label is out of range", labels);
            const BoundedState<T> state{squares, labels, upper, lower, n_bounds};
            return kernels().row_searches<Rows>().bounded_assign(x, exact, options.step(first), state, n_threads);
        },
        Unlocked());

    m.def(
        "add_to_clusters",
        [](const Block& rows, In1<std::int32_t> labels, std::optional<In1<std::int32_t>> before,
           std::optional<In1<T>> weights, In1<double> shift, Out2<double> sums, Out1<double> masses, int n_threads) {
            const Rows x = rows.view();
            const Index n_clusters = sums.shape(0);
            require(sums.shape(1) == x.n_columns, "sums and rows differ in width");
            require_size(n_clusters, "one mass per cluster is needed", masses);
            require_labels(labels, x.n_rows, n_clusters, 0);
            if (before) require_labels(*before, x.n_rows, n_clusters, -1);
            require_size(x.n_rows, "one weight per row is needed", weights);
            require_size(x.n_columns, "one shift per column is needed", shift);
            kernels().of_rows<Rows>().add_to_clusters(x, labels, data_or_null(before), data_or_null(weights), shift,
                                                      n_clusters, sums, masses, n_threads);
        },
        Unlocked());

    m.def(
        "own_square_distances",
        [](const Block& rows, In2<double> centers, In1<double> center_squares, In1<std::int32_t> labels,
           Out1<double> squares, int n_threads) {
            const Rows x = rows.view();
            const Index n_centers = centers.shape(0);
            require(centers.shape(1) == x.n_columns, "centers and rows differ in width");
            require_size(n_centers, "one square per center is needed", center_squares);
            require_labels(labels, x.n_rows, n_centers, 0);
            require_size(x.n_rows, "one square per row is needed", squares);
            kernels().of_rows<Rows>().own_square_distances(x, centers, center_squares, labels, squares, n_threads);
        },
        Unlocked());
}

// The left ones of the type of the right ones (centroids) or in double (sums).
template <class L, class T>
void compare_centers_of(In2<L> left, In2<T> right, Out1<double> dots, Out1<double> squares, int n_threads) {
    const Index n = right.shape(0), d = right.shape(1);
    require_size(n * d, "left and right differ in shape", left);
    require_size(n, "one number per row is needed", dots, squares);
    const auto compare = [] {
        if constexpr (__is_same(L, T)) return kernels().of<T>().compare_centers;
        else return kernels().of<T>().compare_centers_of_doubles;
    }();
    compare(left, right, dots, squares, n, d, n_threads);
}

template <class T>
void bind_positions(nb::module_& m) {
    m.def(
        "move_centers",
        [](In2<double> sums, In1<double> masses, In1<double> shift, In2<T> before, Out2<T> after, int n_threads) {
            const Index n = before.shape(0), d = before.shape(1);
            require_size(n * d, "an array has the wrong shape", sums, after);
            require_size(n, "one mass per center is needed", masses);
            require_size(d, "one shift per column is needed", shift);
            kernels().of<T>().move_centers(sums, masses, shift, before, after, n, d, n_threads);
        },
        Unlocked());

    m.def(
        "relate_centers",
        [](In2<T> centers, In1<double> shift, Out2<T> relative, Out1<double> squares, Out1<T> offsets, int n_threads) {
            const Index n = centers.shape(0), d = centers.shape(1);
            require_size(d, "one shift per column is needed", shift);
            require_size(n * d, "relative has the wrong shape", relative);
            require_size(n, "one number per center is needed", squares, offsets);
            kernels().of<T>().relate_centers(centers, shift, relative, squares, offsets, n, d, n_threads);
        },
        Unlocked());

    m.def("compare_centers", &compare_centers_of<T, T>, Unlocked());
    if constexpr (!__is_same(T, double)) m.def("compare_centers", &compare_centers_of<double, T>, Unlocked());
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
            const Index m = ids.shape(1);
            require(m >= 1, "no centers are listed");
            require_size(x.n_rows * m, "an array has the wrong shape", ids, distances);
            require_between(0, c.n_centers, "a listed center is out of range", ids);
            kernels().of<T>().distances_to_listed(x, c, m, ids, distances, n_threads);
        },
        Unlocked());
}

// Running means in arrays of Python, which it keeps alive.
template <class T>
struct RunningMeansArrays {
    Out2<T> centers, relative;
    Out1<T> offsets;
    Out1<double> squares;
    In1<double> shift;
    Out2<double> means;
    Out1<double> counts;
    bool unit_length;

    RunningMeans<T> view() const {
        return {centers.shape(0), centers.shape(1), shift,    unit_length, means,
                counts,           centers,          relative, squares,     offsets};
    }
};

template <class T>
RunningMeansArrays<T> running_means(Out2<T> centers, Out2<T> relative, Out1<T> offsets, Out1<double> squares,
                                    In1<double> shift, Out2<double> means, Out1<double> counts, bool unit_length) {
    const Index k = centers.shape(0), d = centers.shape(1);
    require_size(k * d, "an array has the wrong shape", relative, means);
    require_size(k, "one number per center is needed", offsets, squares, counts);
    require_size(d, "one shift per column is needed", shift);
    return {centers, relative, offsets, squares, shift, means, counts, unit_length};
}

// Panels of centers are in the order of their lengths at the beginning: labels do not depend on it.
template <class T>
void take_batches(const DenseBlock<T>& rows, std::optional<In1<T>> weights, In1<Index> ends, In1<double> memories,
                  Out1<double> inertias, const RunningMeansArrays<T>& arrays, std::optional<Out2<double>> sums,
                  std::optional<Out1<double>> masses, int n_threads) {
    const RunningMeans<T> means = arrays.view();
    const Index k = means.n_centers, n_batches = ends.size();
    const DenseRows<T> x = rows.view();
    require(x.n_columns == means.n_columns, "centers and rows differ in width");
    require_size(x.n_rows, "one weight per row is needed", weights);
    require_size(n_batches, "one number per batch is needed", memories, inertias);
    require(n_batches > 0 && ends[n_batches - 1] == x.n_rows, "batches do not end with the rows");
    require(ends[0] >= 0 && std::is_sorted(ends.data(), ends + n_batches), "ends of batches decrease");
    require(sums.has_value() == masses.has_value(), "sums and masses belong together");
    require_size(k * means.n_columns, "sums has the wrong shape", sums);
    require_size(k, "one mass per center is needed", masses);
    std::vector<std::int32_t> order(k);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int32_t a, std::int32_t b) { return means.squares[a] < means.squares[b]; });
    kernels().of<T>().take_batches(means,
                                   {x, data_or_null(weights), n_batches, ends, memories, order.data(), inertias,
                                    data_or_null(sums), data_or_null(masses)},
                                   n_threads);
}

template <class T>
void take_sums(In2<double> sums, In1<double> masses, double memory, const RunningMeansArrays<T>& arrays,
               int n_threads) {
    const RunningMeans<T> means = arrays.view();
    require_size(means.n_centers * means.n_columns, "sums has the wrong shape", sums);
    require_size(means.n_centers, "one mass per center is needed", masses);
    kernels().of<T>().move_means_by_sums(means, sums, masses, memory, n_threads);
}

template <class T>
void bind_running_means_of(nb::module_& m, const char* name) {
    nb::class_<RunningMeansArrays<T>>(m, name);
    m.def("running_means", &running_means<T>);
    m.def("take_batches", &take_batches<T>, Unlocked());
    m.def("take_sums", &take_sums<T>, Unlocked());
}

// An array that frees what a kernel has allocated.
template <class T>
auto owned_array(T* data, Index n) {
    return nb::ndarray<nb::numpy, T, nb::ndim<1>>(data, {static_cast<std::size_t>(n)},
                                                  nb::capsule(data, [](void* p) noexcept { free_aligned(p); }));
}

template <class Block>
void bind_pairs_of(nb::module_& m) {
    using Rows = typename Block::Rows;
    using T = typename Rows::value_type;
    m.def("pairs_in_reach",
          [](const Block& rows, In2<T> proposals, In1<T> offsets, In1<T> squares, In1<T> nearest, int n_threads) {
              const Rows x = rows.view();
              const Centers<T> c = centers_view(proposals, offsets, x.n_columns);
              require_size(x.n_rows, "one number per row is needed", squares, nearest);
              Pairs<T> pairs{};
              {
                  WithoutLock unlocked;
                  kernels().of_rows<Rows>().pairs_in_reach(x, c, squares, nearest, pairs, n_threads);
              }
              return nb::make_tuple(owned_array(pairs.proposals, pairs.n), owned_array(pairs.rows, pairs.n),
                                    owned_array(pairs.squares, pairs.n));
          });
}

template <class T>
void least_of_lists_of(In2<std::int32_t> ids, In2<T> scores, In1<double> duals, Out1<std::int32_t> labels,
                       Out1<double> values, Out1<std::int32_t> seconds, Out1<double> margins, int n_threads) {
    const Index n = ids.shape(0), m = ids.shape(1);
    require(m >= 1, "no centers are listed");
    require_size(n * m, "scores has the wrong shape", scores);
    require_between(0, duals.shape(0), "a listed center is out of range", ids);
    require_size(n, "one number per row is needed", labels, values, seconds, margins);
    kernels().of<T>().least_of_lists(ids, scores, n, m, duals, labels, values, seconds, margins, n_threads);
}

template <class T>
void bind_lists(nb::module_& m) {
    m.def("least_of_lists", &least_of_lists_of<T>, Unlocked());
}

}  // namespace

void bind_centers(nb::module_& m) {
    bind_positions<float>(m);
    bind_positions<double>(m);
    m.def("byte_limits", [] {
        const ByteLimits limits = kernels().of<float>().byte_limits;
        return nb::make_tuple(limits.least_columns, limits.least_centers, limits.least_products, limits.bound_columns);
    });
    bind_options<float>(m, "ExactCentersFloat32", "BoundedOptionsFloat32");
    bind_options<double>(m, "ExactCentersFloat64", "BoundedOptionsFloat64");
    for_each_block([&]<class Block>() { bind_assignment<Block>(m); });
    for_each_block([&]<class Block>() { bind_pairs_of<Block>(m); });
    bind_distances<float>(m);
    bind_distances<double>(m);
    bind_running_means_of<float>(m, "RunningMeansFloat32");
    bind_running_means_of<double>(m, "RunningMeansFloat64");
    bind_lists<float>(m);
    bind_lists<double>(m);
}

}  // namespace coterie
