/* ctrl_c FILE COMMAND: starts COMMAND, presses Ctrl-C once FILE exists, and returns the exit code of COMMAND. */
#include <windows.h>

static BOOL WINAPI ignore(DWORD event) {
    return TRUE;
}

int main(int argc, char **argv) {
    STARTUPINFOA start = {sizeof start};
    PROCESS_INFORMATION process;
    DWORD code = 1;
    if (argc != 3) return 2;
    FreeConsole();
    AllocConsole();
    SetConsoleCtrlHandler(ignore, TRUE);
    if (!CreateProcessA(NULL, argv[2], NULL, NULL, FALSE, 0, NULL, NULL, &start, &process)) return 3;
    while (GetFileAttributesA(argv[1]) == INVALID_FILE_ATTRIBUTES) {
        if (WaitForSingleObject(process.hProcess, 50) != WAIT_TIMEOUT) break;
    }
    GenerateConsoleCtrlEvent(CTRL_C_EVENT, 0);
    WaitForSingleObject(process.hProcess, INFINITE);
    GetExitCodeProcess(process.hProcess, &code);
    return (int)code;
}
