import BridgeCore
import RoomsRuntime
import Testing

@Suite struct ConfigurationAdviceTests {
    private func advice(_ text: String) -> [String] {
        ConfigurationAdvice.find(in: Array(text.utf8), file: "c").map(\.description)
    }

    @Test func `a secret in the environment is worth a warning under systemd`() {
        let found = advice(#"{"endpoints": {"env": {"signing": [{"file": "a"}, {"env": "SECRET"}]}}}"#)
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix("c:1:59: endpoints.env.signing[1].env: warning: ") == true, "\(found)")
        #expect(found.first?.contains("/etc/roombridge/credentials") == true)
    }

    @Test(arguments: ["/tmp/a.sock", "/var/tmp/a.sock", "/home/me/a.sock", "/root/a.sock", "/run/user/1000/a.sock"])
    func `so is a socket that the unit hides`(_ path: String) {
        let found = advice(#"{"endpoints": {"app": {"unix": "\#(path)", "protocol": "ndjson"}}}"#)
        #expect(found.count == 1)
        #expect(found.first?.contains("endpoints.app.unix: warning: ") == true, "\(found)")
    }

    @Test(arguments: ["/run/app/a.sock", "/tmpfs/a.sock", "/srv/tmp/a.sock"])
    func `others are not`(_ path: String) {
        #expect(advice(#"{"endpoints": {"app": {"unix": "\#(path)", "signing": [{"credential": "a"}]}}}"#).isEmpty)
    }
}
