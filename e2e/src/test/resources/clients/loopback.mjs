// Names below E2B_DOMAIN are on this machine, as an entry in a name server would say.
import dns from 'node:dns'

const domain = '.' + process.env.E2B_DOMAIN.replace(/:\d+$/, '')
const lookup = dns.lookup
dns.lookup = (name, options, answer) => lookup(name.endsWith(domain) ? '127.0.0.1' : name, options, answer)
