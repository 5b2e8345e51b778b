import Glibc
import RoomsRuntime
import Testing

@Suite struct ProcessSettingsTests {
    @Test func `closed standard descriptors are opened on nothing, open ones stay`() async {
        await #expect(processExitsWith: .success) {
            for descriptor: CInt in [0, 2] { close(descriptor) }
            ProcessSettings.openStandardDescriptors()
            for descriptor: CInt in 0...2 where fcntl(descriptor, F_GETFD) < 0 { exit(1) }
            var nothing = stat()
            var status = stat()
            stat("/dev/null", &nothing)
            for descriptor: CInt in [0, 2] {
                fstat(descriptor, &status)
                if status.st_rdev != nothing.st_rdev { exit(2) }
            }
            exit(0)
        }
    }

    @Test func `the limit of open files goes up to what is allowed`() async {
        await #expect(processExitsWith: .success) {
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
            var limit = rlimit(rlim_cur: 40, rlim_max: 50)
            setrlimit(resource, &limit)
            if ProcessSettings.raiseOpenFiles() != 50 { exit(1) }
            getrlimit(resource, &limit)
            exit(limit.rlim_cur == 50 ? 0 : 2)
        }
    }
}
