// Cache-line aligned scratch memory.
// Own code rather than std::vector: these headers are compiled once per instruction set, and a shared inline
// function of the standard library could be linked from the wrong one. Hence also the unnamed namespaces.
#pragma once

#include <cstdlib>
#include <new>

#include "coterie/machine/numbers.hpp"

namespace coterie {
namespace {

template <class T>
class Buffer {
   public:
    explicit Buffer(Index size) : size_(size) {
        const Index bytes = ((size * static_cast<Index>(sizeof(T)) + 63) / 64 + 1) * 64;
        data_ = static_cast<T*>(std::aligned_alloc(64, static_cast<std::size_t>(bytes)));
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
    ~Buffer() { std::free(data_); }

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
