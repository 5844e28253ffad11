// Cache-line aligned scratch memory.
// Not std::vector: these headers are compiled once per instruction set, and a shared inline function of the standard
// library could be linked from the wrong one. The unnamed namespaces have the same reason.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

#if defined(_WIN32)
#include <malloc.h>
#endif

#include "coterie/machine/numbers.hpp"

namespace coterie {
namespace {

#if defined(_WIN32)
inline void* allocate_aligned(std::size_t bytes) { return _aligned_malloc(bytes, 64); }
inline void free_aligned(void* data) { _aligned_free(data); }
#else
inline void* allocate_aligned(std::size_t bytes) { return std::aligned_alloc(64, bytes); }
inline void free_aligned(void* data) { std::free(data); }
#endif

template <class T>
class Buffer {
   public:
    explicit Buffer(Index size) : size_(size) {
        const Index bytes = ((size * static_cast<Index>(sizeof(T)) + 63) / 64 + 1) * 64;
        data_ = static_cast<T*>(allocate_aligned(static_cast<std::size_t>(bytes)));
        if (data_ == nullptr) throw std::bad_alloc();  // see parallel_for
    }
    Buffer(Buffer&& other) noexcept : data_(other.data_), size_(other.size_) { other.data_ = nullptr; }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(Buffer&& other) noexcept {
        T* const data = data_;
        data_ = other.data_;
        other.data_ = data;
        size_ = other.size_;
        return *this;
    }
    ~Buffer() { free_aligned(data_); }

    T* data() { return data_; }
    const T* data() const { return data_; }
    T& operator[](Index i) { return data_[i]; }
    const T& operator[](Index i) const { return data_[i]; }
    Index size() const { return size_; }
    void fill(T value) {
        for (Index i = 0; i < size_; ++i) data_[i] = value;
    }

   private:
    T* data_;
    Index size_;
};

}  // namespace
}  // namespace coterie
