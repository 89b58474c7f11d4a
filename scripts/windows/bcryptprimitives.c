/* The one function of Windows' bcryptprimitives.dll that the program needs, for wine 8, which lacks the library. */
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T len) {
    return SystemFunction036(data, (ULONG)len);
}
