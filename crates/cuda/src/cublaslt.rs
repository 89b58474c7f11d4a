//! Products by cuBLASLt, if it is on this machine.

use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::c_void;
use std::fmt;
use std::ptr;

use cudarc::cublaslt::result::{self, CublasError};
use cudarc::cublaslt::sys::{
    self, cublasComputeType_t, cublasLtMatmulDescAttributes_t as DescAttribute,
    cublasLtMatmulPreferenceAttributes_t as Attribute, cudaDataType,
};

use crate::bf16::Bf16;
use crate::buffer::{Buffer, Matrix, Shape};
use crate::cuda::Cuda;
use crate::error::Error;
use crate::product::{Form, Kind, Out, Sizes};

/// The memory that cuBLASLt may use while it computes, in bytes: what its documentation recommends for a GPU of 9.0.
const WORKSPACE: usize = 32 << 20;

/// cuBLASLt, NVIDIA's library of products. It chooses by the sizes how it sums, so a result may depend on the other rows.
pub struct CublasLt {
    handle: sys::cublasLtHandle_t,
    workspace: Buffer<u8>,
    /// What it has chosen for earlier products.
    plans: RefCell<HashMap<Key, Plan>>,
}

impl fmt::Debug for CublasLt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CublasLt").finish_non_exhaustive()
    }
}

/// What cuBLASLt's choice depends on.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    form: Form,
    a: Shape,
    b: Shape,
    out: Shape,
    kind: Kind,
}

/// A product that cuBLASLt has prepared. Its matrices are stored by columns, so ours are transposed there: outᵀ = bᵀ · aᵀ.
struct Plan {
    description: Description,
    a: Layout,
    b: Layout,
    out: Layout,
    algorithm: sys::cublasLtMatmulAlgo_t,
}

impl CublasLt {
    /// cuBLASLt for this GPU, or `None` if the library is not found.
    ///
    /// # Errors
    ///
    /// The library fails, or there is no memory for its workspace.
    pub fn open(cuda: &Cuda) -> Result<Option<Self>, Error> {
        // SAFETY: it only tries to load the library, whose code NVIDIA answers for.
        if !unsafe { sys::is_culib_present() } {
            return Ok(None);
        }
        cuda.bind()?;
        Ok(Some(Self {
            workspace: cuda.zeros(WORKSPACE)?,
            handle: result::create_handle().map_err(failed("open cuBLASLt"))?,
            plans: RefCell::default(),
        }))
    }

    /// [`Cuda::product`] by cuBLASLt.
    ///
    /// # Errors
    ///
    /// cuBLASLt has no kernel for this product, or fails.
    ///
    /// # Panics
    ///
    /// If the shapes do not fit together or into their buffers.
    pub fn product(
        &self,
        cuda: &Cuda,
        form: Form,
        a: Matrix<'_, Bf16>,
        b: Matrix<'_, Bf16>,
        mut out: Out<'_>,
        shape: Shape,
    ) -> Result<(), Error> {
        let Sizes { m, n, k } = form.sizes(a.shape, b.shape, shape);
        shape.check(out.len());
        if m == 0 || n == 0 || k == 0 {
            return Err(Error::Failed {
                action: "multiply by cuBLASLt",
                reason: "a matrix is empty".into(),
            });
        }
        cuda.bind()?;
        let key = Key {
            form,
            a: a.shape,
            b: b.shape,
            out: shape,
            kind: out.kind(),
        };
        self.multiply(cuda, key, a, b, out.address(shape, cuda))
            .map_err(failed("multiply by cuBLASLt"))
    }

    fn multiply(
        &self,
        cuda: &Cuda,
        key: Key,
        a: Matrix<'_, Bf16>,
        b: Matrix<'_, Bf16>,
        out: u64,
    ) -> Result<(), CublasError> {
        let mut plans = self.plans.borrow_mut();
        let plan = match plans.entry(key) {
            Entry::Occupied(plan) => plan.into_mut(),
            Entry::Vacant(place) => place.insert(Plan::new(self.handle, key)?),
        };
        let alpha = 1.0_f32;
        let beta = match key.kind {
            Kind::F32 | Kind::Bf16 => 0.0_f32,
            Kind::AddF32 => 1.0,
        };
        let workspace = self.workspace.matrix(Shape::dense(1, WORKSPACE));
        // SAFETY: the addresses are those of matrices of these layouts, and the stream runs nothing else at the same time.
        unsafe {
            result::matmul(
                self.handle,
                plan.description.0,
                (&raw const alpha).cast(),
                (&raw const beta).cast(),
                b.address(&cuda.stream) as *const c_void,
                plan.b.0,
                a.address(&cuda.stream) as *const c_void,
                plan.a.0,
                out as *const c_void,
                plan.out.0,
                out as *mut c_void,
                plan.out.0,
                &raw const plan.algorithm,
                workspace.address(&cuda.stream) as *mut c_void,
                WORKSPACE,
                cuda.stream.cu_stream().cast(),
            )
        }
    }
}

impl Plan {
    fn new(handle: sys::cublasLtHandle_t, key: Key) -> Result<Self, CublasError> {
        let (b_operation, a_operation) = match key.form {
            Form::Nt => (Operation::Transposed, Operation::Normal),
            Form::Nn => (Operation::Normal, Operation::Normal),
            Form::Tn => (Operation::Normal, Operation::Transposed),
        };
        let (out_type, out_bytes) = match key.kind {
            Kind::F32 | Kind::AddF32 => (cudaDataType::CUDA_R_32F, 4),
            Kind::Bf16 => (cudaDataType::CUDA_R_16BF, 2),
        };
        let description = Description::new(b_operation, a_operation)?;
        let a = Layout::new(cudaDataType::CUDA_R_16BF, key.a)?;
        let b = Layout::new(cudaDataType::CUDA_R_16BF, key.b)?;
        let out = Layout::new(out_type, key.out)?;
        let preference =
            Preference::new(key.a.start * 2, key.b.start * 2, key.out.start * out_bytes)?;
        // SAFETY: all of these live until the end of this function.
        let chosen = unsafe {
            result::get_matmul_algo_heuristic(
                handle,
                description.0,
                b.0,
                a.0,
                out.0,
                out.0,
                preference.0,
            )
        }?;
        Ok(Self {
            description,
            a,
            b,
            out,
            algorithm: chosen.algo,
        })
    }
}

impl Drop for CublasLt {
    fn drop(&mut self) {
        // SAFETY: the handle is valid, and nobody uses it any more.
        let _ = unsafe { result::destroy_handle(self.handle) };
    }
}

/// How cuBLASLt reads an operand, as `cublasOperation_t`, which the bindings lack.
#[derive(Clone, Copy)]
#[repr(i32)]
enum Operation {
    Normal = 0,
    Transposed = 1,
}

struct Layout(sys::cublasLtMatrixLayout_t);

impl Layout {
    /// That of the transposed matrix, stored by columns.
    fn new(kind: cudaDataType, shape: Shape) -> Result<Self, CublasError> {
        let (rows, columns) = (shape.columns as u64, shape.rows as u64);
        result::create_matrix_layout(kind, rows, columns, shape.stride as i64).map(Self)
    }
}

impl Drop for Layout {
    fn drop(&mut self) {
        // SAFETY: the layout is valid, and nobody uses it any more.
        let _ = unsafe { result::destroy_matrix_layout(self.0) };
    }
}

struct Description(sys::cublasLtMatmulDesc_t);

impl Description {
    fn new(first: Operation, second: Operation) -> Result<Self, CublasError> {
        let compute = cublasComputeType_t::CUBLAS_COMPUTE_32F;
        let this = Self(result::create_matmul_desc(
            compute,
            cudaDataType::CUDA_R_32F,
        )?);
        for (attribute, operation) in [
            (DescAttribute::CUBLASLT_MATMUL_DESC_TRANSA, first),
            (DescAttribute::CUBLASLT_MATMUL_DESC_TRANSB, second),
        ] {
            let value = ptr::from_ref(&operation).cast();
            // SAFETY: the attribute is an operation.
            unsafe {
                result::set_matmul_desc_attribute(this.0, attribute, value, size_of_val(&operation))
            }?;
        }
        Ok(this)
    }
}

impl Drop for Description {
    fn drop(&mut self) {
        // SAFETY: the description is valid, and nobody uses it any more.
        let _ = unsafe { result::destroy_matmul_desc(self.0) };
    }
}

struct Preference(sys::cublasLtMatmulPreference_t);

impl Preference {
    /// For matrices at these places, in bytes, of buffers that are aligned to 256 bytes.
    fn new(a: usize, b: usize, out: usize) -> Result<Self, CublasError> {
        let this = Self(result::create_matmul_pref()?);
        let workspace = WORKSPACE as u64;
        this.set(
            Attribute::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
            &workspace,
        )?;
        let alignment = |start: usize| 1_u32 << start.trailing_zeros().min(8);
        for (attribute, start) in [
            (Attribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, b),
            (Attribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, a),
            (Attribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, out),
            (Attribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, out),
        ] {
            this.set(attribute, &alignment(start))?;
        }
        Ok(this)
    }

    fn set<T>(&self, attribute: Attribute, value: &T) -> Result<(), CublasError> {
        // SAFETY: cuBLASLt compares the size with that of the attribute, and reads as much.
        unsafe {
            result::set_matmul_pref_attribute(
                self.0,
                attribute,
                ptr::from_ref(value).cast(),
                size_of::<T>(),
            )
        }
    }
}

impl Drop for Preference {
    fn drop(&mut self) {
        // SAFETY: the preference is valid, and nobody uses it any more.
        let _ = unsafe { result::destroy_matmul_pref(self.0) };
    }
}

fn failed(action: &'static str) -> impl Fn(CublasError) -> Error {
    move |error| Error::Failed {
        action,
        reason: format!("{:?}", error.0),
    }
}
