/* What kernels are written with: one source for OpenCL C and CUDA C++, in the subset that both have.
   Only fixed-width types; a kernel must check its index against the count that it is given, because
   grids are rounded up to whole groups. */
#if defined(__OPENCL_VERSION__)
#define XD_KERNEL __kernel void
#define XD_GLOBAL __global
#define XD_CONST __constant
#define XD_SHARED __local
#define XD_DEVICE
#define XD_X ((uint)get_global_id(0))
#define XD_Y ((uint)get_global_id(1))
#define XD_Z ((uint)get_global_id(2))
#define XD_LOCAL_X ((uint)get_local_id(0))
#define XD_LOCAL_Y ((uint)get_local_id(1))
#define XD_GROUP_X ((uint)get_group_id(0))
#define XD_GROUP_Y ((uint)get_group_id(1))
#define XD_BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define XD_ATOMIC_ADD(pointer, value) atomic_add(pointer, value)
typedef uchar u8;
typedef ushort u16;
typedef uint u32;
typedef ulong u64;
typedef char i8;
typedef short i16;
typedef int i32;
typedef long i64;
typedef float f32;
#else
#define XD_KERNEL extern "C" __global__ void
#define XD_GLOBAL
#define XD_CONST __constant__
#define XD_SHARED __shared__
#define XD_DEVICE __device__
#define XD_X (blockIdx.x * blockDim.x + threadIdx.x)
#define XD_Y (blockIdx.y * blockDim.y + threadIdx.y)
#define XD_Z (blockIdx.z * blockDim.z + threadIdx.z)
#define XD_LOCAL_X (threadIdx.x)
#define XD_LOCAL_Y (threadIdx.y)
#define XD_GROUP_X (blockIdx.x)
#define XD_GROUP_Y (blockIdx.y)
#define XD_BARRIER() __syncthreads()
#define XD_ATOMIC_ADD(pointer, value) atomicAdd(pointer, value)
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef float f32;
#endif

/* A span is two parameters, because a message may start anywhere in the memory that it lies in. In the
   parameters XD_IN(name) or XD_OUT(name); first thing in the body XD_READ(type, name) or
   XD_WRITE(type, name), which give `name` as a pointer. */
#define XD_IN(name) const XD_GLOBAL u8 *name##_memory, u64 name##_offset
#define XD_OUT(name) XD_GLOBAL u8 *name##_memory, u64 name##_offset
#define XD_READ(type, name) const XD_GLOBAL type *name = (const XD_GLOBAL type *)(name##_memory + name##_offset)
#define XD_WRITE(type, name) XD_GLOBAL type *name = (XD_GLOBAL type *)(name##_memory + name##_offset)
